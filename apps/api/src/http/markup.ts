/** HTML text. Every inserted string is escaped. */
export class Markup {
  readonly text: string;

  constructor(strings: readonly string[], values: readonly (string | Markup)[]) {
    const parts = values.map((value) => (value instanceof Markup ? value.text : escaped(value)));
    this.text = strings.map((string, at) => string + (parts[at] ?? '')).join('');
  }
}

/** A template tag for HTML. It escapes every inserted string. */
export function markup(strings: TemplateStringsArray, ...values: readonly (string | Markup)[]): Markup {
  return new Markup(strings, values);
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}
