"""The outside: text models, pacing, prices, mail, sign-in. Leaves that do the slow work."""
