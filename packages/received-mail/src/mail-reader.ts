import { textAsHtml } from '@postrider/domain/html-text';
import { MailParser } from 'mailparser';
import type { AttachmentStream, HeaderLines, MailParserOptions, MessageText } from 'mailparser';
import { conversionSteps } from './conversion-steps.ts';
import { HTML_CHARACTERS_MAX, HTML_STEPS_MAX, LONGER_TEXT_CHARACTERS_MAX } from './limits.ts';

/** A message as mailparser reads it. */
export interface ReadMail {
  readonly headerLines: HeaderLines;
  readonly text: string;
  readonly html: string;
  readonly files: readonly MailFile[];
  /** False when mailparser stopped at one of its limits, or left something out. */
  readonly complete: boolean;
}

/** An attachment. '' means that its part has no such field. */
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
 * Reads a message with mailparser. It never rejects. After an error it returns what it has read.
 * (mailparser's own `simpleParser` returns nothing then.)
 */
export function readMail(bytes: Buffer): Promise<ReadMail> {
  const parser = new BoundedMailParser(OPTIONS);
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
    const settle = (isWhole: boolean): void => {
      const { text = '' } = body;
      // HTML may become text that is longer than the message. Above this limit we drop the text.
      const isTextKept = text.length <= Math.max(bytes.length, LONGER_TEXT_CHARACTERS_MAX);
      resolve({
        headerLines: parser.headerLines || [],
        text: isTextKept ? text : '',
        html: body.html ?? '',
        files: files.map(({ part: { filename = '', contentType, cid = '' }, chunks }) => {
          return { filename, contentType, cid, content: Buffer.concat(chunks) };
        }),
        complete: isWhole && isTextKept && body.textConversionError === undefined && !parser.hasLoss,
      });
    };
    parser
      .once('end', () => settle(true))
      .on('error', () => settle(false))
      .end(bytes);
  });
}

/** A node of mailparser's tree of parts. */
interface PartNode {
  contentType: string | false;
  readonly headerLines: HeaderLines;
  textContent?: string;
  readonly children: readonly PartNode[];
}

/** The fields that mailparser's types leave out. */
interface Internals {
  readonly tree: PartNode | false;
  /** True when HTML outside an alternative also becomes text. mailparser sets it at a plain part. */
  hasText: boolean;
  /** Converts the parts into the texts of the message, at its end. */
  getTextContent(): MessageText;
}

const Base = MailParser as unknown as new (options: MailParserOptions) => MailParser & Internals;

/**
 * mailparser with two changes. It turns HTML into text where no plain part exists, but only within
 * `HTML_STEPS_MAX`, which limits the time. And `html` also contains the plain parts beside the HTML.
 */
class BoundedMailParser extends Base {
  #isPlainLeftOut = false;

  override getTextContent(): MessageText {
    this.hasText = true; // so mailparser converts HTML also when there is no plain part
    if (this.tree !== false) mixAlternatives(this.tree);
    const parts = bodyParts(this.tree);
    const converted = parts.filter(isConverted);
    const steps = converted.reduce((sum, { content }) => sum + conversionSteps(content), 0);
    // With -1, each HTML part is too long, so mailparser converts no part.
    if (steps > HTML_STEPS_MAX) this.options = { ...this.options, maxHtmlLengthToParse: -1 };
    const body = super.getTextContent();
    const html = wholeHtml(parts);
    this.#isPlainLeftOut = html === null;
    // null: mailparser's own HTML stays, which may lack plain parts.
    return html === null ? body : { ...body, html };
  }

  get hasLoss(): boolean {
    return this.#isPlainLeftOut || (this.tree !== false && losesContent(this.tree));
  }
}

/**
 * mailparser converts no HTML in an alternative. So an alternative without a plain part becomes mixed. A
 * blank plain part does not count.
 *
 * @returns whether the node has plain text
 */
function mixAlternatives(node: PartNode): boolean {
  const { contentType, textContent = '', children } = node;
  if (contentType === 'text/plain' && textContent.trim() !== '') return true;
  if (contentType === 'text/plain') node.textContent = '';
  const hasPlain = children.map(mixAlternatives).includes(true);
  if (contentType === 'multipart/alternative' && !hasPlain) node.contentType = 'multipart/mixed';
  return hasPlain;
}

interface BodyPart {
  readonly isHtml: boolean;
  readonly content: string;
  readonly isAlternative: boolean;
}

/** The plain and HTML parts with content, in order. */
function bodyParts(node: PartNode | false, isInAlternative = false): BodyPart[] {
  if (node === false) return [];
  const { contentType, textContent: content = '', children } = node;
  const isAlternative = isInAlternative || contentType === 'multipart/alternative';
  const isHtml = contentType === 'text/html';
  const isPart = content !== '' && (isHtml || contentType === 'text/plain');
  return [
    ...(isPart ? [{ isHtml, content, isAlternative }] : []),
    ...children.flatMap((child) => bodyParts(child, isAlternative)),
  ];
}

/**
 * True when mailparser may convert this HTML. It does not convert HTML in an alternative, which has a plain
 * part too.
 */
function isConverted({ isHtml, content, isAlternative }: BodyPart): boolean {
  return isHtml && !isAlternative && content.length <= HTML_CHARACTERS_MAX;
}

/**
 * The HTML parts, with the plain parts beside them. '' when no part is HTML. null when escaping makes the
 * result too long: `&` becomes `&amp;`, five characters.
 */
function wholeHtml(parts: readonly BodyPart[]): string | null {
  if (!parts.some(({ isHtml }) => isHtml)) return '';
  const shown = parts.filter(({ isHtml, isAlternative }) => isHtml || !isAlternative);
  const characters = shown.reduce((sum, { content }) => sum + content.length, 0);
  const html = shown.map(({ isHtml, content }) => (isHtml ? content : textAsHtml(content))).join('<br/>\n');
  return html.length <= Math.max(2 * characters, LONGER_TEXT_CHARACTERS_MAX) ? html : null;
}

/**
 * Finds the two things that mailparser drops without an error: text in a header that no empty line ends, and
 * the content of a multipart in which mailparser found no part.
 */
function losesContent({ contentType, headerLines, children }: PartNode): boolean {
  if (headerLines.some(({ key, line }) => key === '' && line.trim() !== '')) return true;
  if (children.length > 0) return children.some(losesContent);
  return contentType !== false && contentType.startsWith('multipart');
}
