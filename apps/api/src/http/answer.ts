import type { Readable } from 'node:stream';
import type { AlsoStatus, FieldFault, ProblemSlug } from '@postrider/domain';

/** What a route or a stage before it has to say; how it is written to the wire is `send`'s affair. */
export type Answer = JsonAnswer | HtmlAnswer | FileAnswer | PlainTextAnswer | ProblemAnswer;

export interface JsonAnswer {
  readonly kind: 'json';
  readonly status: 200 | 201 | 202;
  readonly body: object;
}

/** For people: a whole document of HTML. */
export interface HtmlAnswer {
  readonly kind: 'html';
  readonly html: string;
}

/** Bytes of a stranger's, to be saved. */
export interface FileAnswer {
  readonly kind: 'file';
  /** 416: `stream` is null, and `headers` say how much there is. */
  readonly status: 200 | 206 | 416;
  readonly mediaType: string;
  readonly headers: Readonly<Record<string, string>>;
  /** In bytes; of a HEAD what its GET would have. */
  readonly length: number;
  /** As many bytes as `length` says. Sent as they come, and destroyed when the client goes. Null: none follow. */
  readonly stream: Readable | null;
}

/** The refusals that contract 7.1 excepts from problem documents. */
export interface PlainTextAnswer {
  readonly kind: 'plain-text';
  readonly status: 400 | 413 | 422;
  readonly text: string;
}

export interface ProblemAnswer {
  readonly kind: 'problem';
  readonly slug: ProblemSlug;
  /** Where the catalogue lists another besides the usual one. */
  readonly status?: AlsoStatus;
  readonly detail?: string;
  readonly errors?: readonly FieldFault[];
}

export function json(status: JsonAnswer['status'], body: object): JsonAnswer {
  return { kind: 'json', status, body };
}

export function htmlAnswer(html: string): HtmlAnswer {
  return { kind: 'html', html };
}

export function plainText(status: PlainTextAnswer['status'], text: string): PlainTextAnswer {
  return { kind: 'plain-text', status, text };
}
