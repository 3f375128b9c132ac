import { MailParser } from 'mailparser';
import type { AttachmentStream, HeaderLines, MessageText } from 'mailparser';
import { HTML_CHARACTERS_MAX } from './limits.ts';

/** A message as mailparser reads it. */
export interface ReadMail {
  readonly headerLines: HeaderLines;
  readonly text: string;
  readonly html: string;
  readonly files: readonly MailFile[];
  /** False when mailparser stopped at one of its limits, or left something out. */
  readonly complete: boolean;
}

/** Empty texts are absent. */
export interface MailFile {
  readonly filename: string;
  readonly contentType: string;
  readonly cid: string;
  readonly content: Buffer;
}

const OPTIONS = {
  // Attached messages and delivery reports are files, not texts of this message.
  ignoreEmbedded: true,
  keepDeliveryStatus: true,
  skipTextToHtml: true,
  checksumAlgo: false,
  maxHtmlLengthToParse: HTML_CHARACTERS_MAX,
} as const;

/**
 * Reads a message with mailparser. It never rejects: after an error, it returns what was read until then.
 * `simpleParser` would lose it.
 */
export function readMail(bytes: Buffer): Promise<ReadMail> {
  const parser = new MailParser(OPTIONS);
  const files: { part: AttachmentStream; chunks: Buffer[] }[] = [];
  let body: Partial<MessageText> = {};
  parser.on('data', (part: AttachmentStream | MessageText) => {
    if (part.type === 'text') {
      body = part;
      return;
    }
    const chunks: Buffer[] = [];
    files.push({ part, chunks });
    part.content.on('data', (chunk: Buffer) => chunks.push(chunk)).once('end', () => part.release?.());
  });
  return new Promise((resolve) => {
    const settle = (isWhole: boolean): void =>
      resolve({
        headerLines: parser.headerLines || [],
        text: body.text ?? '',
        html: body.html ?? '',
        files: files.map(({ part: { filename = '', contentType, cid = '' }, chunks }) => {
          return { filename, contentType, cid, content: Buffer.concat(chunks) };
        }),
        complete: isWhole && body.textConversionError === undefined && !hasLoss(parser),
      });
    parser
      .once('end', () => settle(true))
      .on('error', () => settle(false))
      .end(bytes);
  });
}

/** A node of mailparser's tree of parts, which its types leave out. */
interface Node {
  readonly contentType: string | false;
  readonly headerLines: HeaderLines;
  readonly children: readonly Node[];
}

function hasLoss(parser: object): boolean {
  const { tree } = parser as { tree: Node | false };
  return tree !== false && losesContent(tree);
}

/**
 * Finds the two forms that mailparser drops without a word: text in a header that no empty line ends, and the
 * content of a multipart in which it found no part.
 */
function losesContent({ contentType, headerLines, children }: Node): boolean {
  if (headerLines.some(({ key, line }) => key === '' && line.trim() !== '')) return true;
  if (children.length > 0) return children.some(losesContent);
  return contentType !== false && contentType.startsWith('multipart');
}
