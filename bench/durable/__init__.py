"""How fast a chapter becomes durable, and how soon interrupted runs continue."""
