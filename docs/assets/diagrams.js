/* What the theme leaves out when it sets up Mermaid, on pages with a diagram. */

(() => {
  // Parts of sequence diagrams that the theme knows by older names, in its own colours: these change with light and dark.
  const colours = `
    [id$="-arrowhead"] path, [id$="-filled-head"] path {
      fill: var(--md-mermaid-sequence-message-line-color) !important;
      stroke: none;
    }
    [id$="-crosshead"] path { stroke: var(--md-mermaid-sequence-message-line-color) !important; }
    [id$="-sequencenumber"] { fill: var(--md-mermaid-sequence-number-bg-color) !important; }
    [class^="activation"] {
      fill: var(--md-default-bg-color);
      stroke: var(--md-mermaid-sequence-actor-border-color);
    }
  `;

  // A sequence is as wide as its longest words, and shrunk to the width of the page: with these it stays readable.
  const sizes = {
    actorFontSize: "14px",
    messageFontSize: "13px",
    width: 84,
    actorMargin: 16,
    wrapPadding: 4,
    diagramMarginX: 8,
    messageMargin: 30,
  };

  const initialize = mermaid.initialize;
  mermaid.initialize = (config) =>
    initialize({ ...config, themeCSS: config.themeCSS + colours, sequence: { ...config.sequence, ...sizes } });
})();
