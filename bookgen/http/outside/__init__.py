"""What is served outside the API but pages: pictures, and what operators ask."""
