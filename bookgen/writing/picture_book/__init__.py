"""How a children's book is written: a plan of spreads, then each one's text for the age and what its picture shows."""
