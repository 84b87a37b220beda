-- The purchase that a use is charged to; none for an add-on by the month. A refund takes back the use of its purchase or,
-- where that was made, none: the next purchase is not charged with it.
ALTER TABLE addon_use ADD COLUMN checkout_id bigint UNIQUE REFERENCES checkout ON DELETE SET NULL;

-- Which purchase an older use was made of is not known: of one that is still paid, as long as there are any.
WITH bought AS (
    SELECT o.id AS owned_id, c.id AS checkout_id,
           row_number() OVER (PARTITION BY o.id ORDER BY c.status = 'refunded', c.id) AS place
      FROM account_addon o
      JOIN addon a ON a.id = o.addon_id
      JOIN checkout c ON c.account_id = o.account_id AND c.kind = 'addon' AND c.slug = a.slug
                     AND c.billing = 'per_use' AND c.status IN ('paid', 'refunded')
     WHERE o.billing_type = 'per_use'
), taken AS (
    SELECT run_id, account_addon_id,
           row_number() OVER (PARTITION BY account_addon_id ORDER BY held_at, run_id) AS place
      FROM addon_use
)
UPDATE addon_use AS u
   SET checkout_id = bought.checkout_id
  FROM taken
  JOIN bought ON bought.owned_id = taken.account_addon_id AND bought.place = taken.place
 WHERE u.run_id = taken.run_id AND u.account_addon_id = taken.account_addon_id;
