"use strict";

// The prefix that this page was opened under, so that /api and /api/v1 both work.
const base = location.pathname.replace(/docs\/$/, "");

SwaggerUIBundle({
  url: `${base}schema/`,
  dom_id: "#swagger-ui",
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  persistAuthorization: false,
  validatorUrl: null,
  syntaxHighlight: { activated: true, theme: "agate" },
});
