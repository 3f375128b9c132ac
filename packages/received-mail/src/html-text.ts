import { Parser } from 'htmlparser2';
import { storable } from './clean-text.ts';
import { HTML_CHARACTERS_MAX, HTML_DEPTH_MAX, LINK_CHARACTERS_MAX } from './limits.ts';

/** Elements whose text is not shown. */
const HIDDEN = new Set(['title', 'style', 'script', 'template', 'svg']);
/** Elements that begin and end with an empty line. */
const PARAGRAPHS = new Set('p h1 h2 h3 h4 h5 h6 blockquote ul ol dl pre table'.split(' '));
/** Elements that begin and end a line. */
const LINES = new Set(
  'address article aside body caption center dd div dt fieldset figure footer form header html li main nav section tr'.split(
    ' ',
  ),
);

/**
 * Turns HTML into text: paragraphs, list items, cells, and the addresses of links. It leaves out what exceeds
 * the limits.
 *
 * It makes one pass and builds no tree, and the text is not much longer than the HTML. html-to-text took 5 s
 * and wrote 10 MB for 512 KiB of lines in 50 quotes.
 */
export function textOfHtml(html: string): { text: string; complete: boolean } {
  const writer = new TextWriter();
  let depth = 0;
  let complete = html.length <= HTML_CHARACTERS_MAX;
  const parser = new Parser({
    onopentag: (name, attributes) => {
      depth += 1;
      if (depth > HTML_DEPTH_MAX) {
        complete = false;
        parser.pause();
        return;
      }
      writer.open(name, attributes);
    },
    ontext: (text) => writer.write(text),
    onclosetag: (name) => {
      depth -= 1;
      writer.close(name);
    },
  });
  parser.end(html.slice(0, HTML_CHARACTERS_MAX));
  return { text: storable(writer.text()), complete };
}

/** Writes the text of elements as they open and close, with the white space that a browser shows. */
class TextWriter {
  private readonly pieces: string[] = [];
  /** Line ends to write before the next text. */
  private lineEnds: 0 | 1 | 2 = 0;
  private space = false;
  private hidden = 0;
  private preformatted = 0;
  private link: { href: string; firstPiece: number } | null = null;

  open(name: string, attributes: Readonly<Record<string, string>>): void {
    if (HIDDEN.has(name)) this.hidden += 1;
    if (name === 'pre') this.preformatted += 1;
    this.breakAround(name);
    if (name === 'br') this.lineEnds = this.lineEnds === 0 ? 1 : 2;
    if (name === 'hr') this.append('---');
    if (name === 'li') this.append('*');
    if (name === 'li' || name === 'td' || name === 'th') this.space = true;
    if (name === 'a') this.link = { href: attributes['href'] ?? '', firstPiece: this.pieces.length };
  }

  close(name: string): void {
    if (HIDDEN.has(name)) this.hidden -= 1;
    if (name === 'pre') this.preformatted -= 1;
    if (name === 'a') this.closeLink();
    if (name !== 'br') this.breakAround(name);
  }

  write(text: string): void {
    if (this.preformatted > 0) {
      this.append(text);
      return;
    }
    const words = text.replaceAll(/[ \t\r\n\f\u00a0]+/g, ' ');
    if (words.startsWith(' ')) this.space = true;
    if (words.trim() === '') return;
    this.append(words.trim());
    this.space = words.endsWith(' ');
  }

  text(): string {
    return this.pieces.join('').trim();
  }

  private append(text: string): void {
    if (this.hidden > 0 || text === '') return;
    if (this.lineEnds > 0) this.pieces.push('\n'.repeat(this.lineEnds));
    else if (this.space) this.pieces.push(' ');
    this.lineEnds = 0;
    this.space = false;
    this.pieces.push(text);
  }

  private breakAround(name: string): void {
    if (PARAGRAPHS.has(name)) this.lineEnds = 2;
    else if (LINES.has(name) || name === 'hr') this.lineEnds = this.lineEnds === 2 ? 2 : 1;
  }

  /** Writes the address of a link after its text, unless the text is the address. */
  private closeLink(): void {
    const { href = '', firstPiece = 0 } = this.link ?? {};
    this.link = null;
    if (!/^(?:https?|mailto):/i.test(href) || href.length > LINK_CHARACTERS_MAX) return;
    const shown = this.pieces.slice(firstPiece).join('').trim();
    if (shown === '' || shown === href || `mailto:${shown}` === href) return;
    const space = this.space;
    this.lineEnds = 0;
    this.space = true;
    this.append(`[${href}]`);
    this.space = space;
  }
}
