/*
 * What the tool and its own processes say to each other, over Node's channel between parent and child.
 */

/** What a process of the tool can be asked to do. */
export type Commands = Readonly<Record<string, (argument: never) => unknown>>;

export interface Request {
  readonly id: number;
  readonly command: string;
  readonly argument: unknown;
}

export type Answer =
  { readonly id: number; readonly result: unknown } | { readonly id: number; readonly error: string };
