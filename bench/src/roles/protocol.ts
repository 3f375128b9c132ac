/*
 * The messages between the tool and its own processes, over Node's IPC channel.
 */

/** The commands of a process of the tool. */
export type Commands = Readonly<Record<string, (argument: never) => unknown>>;

export interface Request {
  readonly id: number;
  readonly command: string;
  readonly argument: unknown;
}

export type Answer =
  { readonly id: number; readonly result: unknown } | { readonly id: number; readonly error: string };
