"""How a children's book is written: a plan of spreads (two facing pages), then the text and picture of each."""
