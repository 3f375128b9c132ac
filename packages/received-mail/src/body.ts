import { textOfHtml } from './html-text.ts';
import { isBodyText, readAttachment, readText } from './part-content.ts';
import type { ParsedMessage, ReceivedAttachment } from './parsed-message.ts';
import type { Part } from './parts.ts';

export type MessageBody = Pick<ParsedMessage, 'text' | 'html' | 'attachments' | 'complete'>;

/** One piece of the body: a text part, or a multipart/alternative with all forms of the same text. */
interface Piece {
  readonly plain: string[];
  readonly html: string[];
}

/**
 * Reads the text parts and attachments of a message in order. `complete` is false when HTML exceeded a limit
 * and its text was cut.
 */
export async function readBody(root: Part): Promise<MessageBody> {
  const pieces: Piece[] = [];
  const attachments: ReceivedAttachment[] = [];
  let complete = true;

  async function visit(part: Part, alternatives: Piece | null): Promise<void> {
    if (part.children === null) {
      await readLeaf(part, alternatives);
      return;
    }
    const inner = alternatives ?? (part.mediaType === 'multipart/alternative' ? newPiece() : null);
    for (const child of part.children) await visit(child, inner);
  }

  async function readLeaf(part: Part, alternatives: Piece | null): Promise<void> {
    if (!isBodyText(part)) {
      attachments.push(await readAttachment(part));
      return;
    }
    const piece = alternatives ?? newPiece();
    (part.mediaType === 'text/html' ? piece.html : piece.plain).push(readText(part));
  }

  function newPiece(): Piece {
    const piece: Piece = { plain: [], html: [] };
    pieces.push(piece);
    return piece;
  }

  function textOf(piece: Piece): string[] {
    if (piece.plain.some(isNotBlank)) return piece.plain;
    const converted = piece.html.map(textOfHtml);
    if (converted.some((each) => !each.complete)) complete = false;
    return converted.map(({ text }) => text);
  }

  await visit(root, null);
  const text = joined(pieces.flatMap(textOf));
  return { text, html: joined(pieces.flatMap(({ html }) => html)), attachments, complete };
}

/** Joins the texts. Returns null when they hold only white space. */
function joined(texts: readonly string[]): string | null {
  const filled = texts.filter(isNotBlank);
  return filled.length === 0 ? null : filled.map(endingLine).join('');

  function endingLine(text: string, index: number): string {
    return index < filled.length - 1 && !text.endsWith('\n') ? `${text}\n` : text;
  }
}

function isNotBlank(text: string): boolean {
  return text.trim() !== '';
}
