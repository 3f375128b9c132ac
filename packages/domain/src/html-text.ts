/** Plain text as HTML that shows its spaces and line breaks. */
export function textAsHtml(text: string): string {
  return `<div style="white-space:pre-wrap">${escapedHtml(text)}</div>`;
}

/** A stranger wrote the text. It stands between tags, never in an attribute: quotes stay. */
export function escapedHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
