import { mkdirSync, readdirSync, watch } from 'node:fs';

/** The log of what the mail provider accepted. */
export interface SandboxLog {
  /** The ids of the messages, once for each time that the provider accepted one. */
  handOvers(): string[];
  close(): void;
}

const MESSAGE = /^(.+)\.eml$/;
const OWNER_DIRECTORY = 0o700;

/**
 * The sandbox renames each message that it accepts to `<email id>.eml`, also one that it has already. So the
 * files show the messages, and the events of the watcher show how often each one came.
 */
export function watchSandbox(folder: string): SandboxLog {
  mkdirSync(folder, { mode: OWNER_DIRECTORY });
  const times = new Map<string, number>();
  const watcher = watch(folder, (kind, file) => {
    const id = idOf(file ?? '');
    if (kind === 'rename' && id !== null) times.set(id, (times.get(id) ?? 0) + 1);
  });
  return {
    handOvers() {
      const ids = readdirSync(folder).flatMap((file) => idOf(file) ?? []);
      return ids.flatMap((id) => Array.from({ length: Math.max(1, times.get(id) ?? 0) }, () => id));
    },
    close: () => watcher.close(),
  };
}

function idOf(file: string): string | null {
  return MESSAGE.exec(file)?.[1] ?? null;
}
