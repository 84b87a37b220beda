-- A smaller plan begins when the paid period ends. Until then the payment processor has it scheduled; these columns show it.
ALTER TABLE subscription
    ADD COLUMN next_plan_id bigint REFERENCES plan ON DELETE SET NULL,
    ADD COLUMN next_interval text CHECK (next_interval IN ('monthly', 'yearly'));

-- How many accounts a network registered on a day. A wider network (IPv4 /24, IPv6 /48) has a row of its own.
CREATE TABLE registration (
    network  text NOT NULL,
    day      date NOT NULL DEFAULT current_date,
    accounts integer NOT NULL,
    PRIMARY KEY (day, network)
);
