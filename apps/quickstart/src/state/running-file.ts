import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createFile, readOrNull, replaceFile } from '@postrider/embedded';
import { RUNNING_FILE } from '@postrider/runtime';
import type { LocalServers } from '@postrider/runtime';
import { StartError } from '../settings.ts';
import { endMarked, markOf, stillRuns } from './process-identity.ts';
import type { ProcessMark } from './process-identity.ts';

/** The content of the file. The CLI reads the addresses of Postgres and Redis from it. */
interface Running extends LocalServers {
  readonly launcher: ProcessMark;
  readonly children: Readonly<Record<string, ProcessMark>>;
}

const LEFTOVER_GRACE_MS = 8_000;
const TRIES = 3;
/** Only this user may read the file: it has the password of Postgres. */
const MODE = 0o600;

/** The file that lists the running processes. It also keeps other starts out of the data directory. */
export class RunningFile {
  readonly #file: string;
  #running: Running;

  private constructor(file: string, running: Running) {
    this.#file = file;
    this.#running = running;
  }

  /**
   * Takes the data directory for this process. Ends the children that a killed start left running. Postgres
   * is not listed as a child: `startPostgres` adopts it.
   *
   * @throws StartError when another start uses the directory, or may use it.
   */
  static async take(dataDir: string): Promise<RunningFile> {
    mkdirSync(dataDir, { recursive: true });
    const file = join(dataDir, RUNNING_FILE);
    const running = { launcher: markOf(process.pid), postgres: null, redisUrl: null, children: {} };
    for (let tries = 1; !createFile(file, textOf(running), MODE); tries += 1) {
      if (tries === TRIES) throw new StartError(`another start is using ${dataDir}`);
      await clearLeftovers(file, dataDir);
    }
    return new RunningFile(file, running);
  }

  note(changes: Partial<Running>): void {
    this.#running = { ...this.#running, ...changes };
    replaceFile(this.#file, textOf(this.#running), MODE);
  }

  noteChild(name: string, pid: number): void {
    this.note({ children: { ...this.#running.children, [name]: markOf(pid) } });
  }

  remove(): void {
    rmSync(this.#file, { force: true });
  }
}

async function clearLeftovers(file: string, dataDir: string): Promise<void> {
  const text = readOrNull(file);
  const left = text === null ? null : parse(text);
  if (left !== null) {
    const { launcher } = left;
    const runs = stillRuns(launcher); // 'unsure': another program may have the number of the launcher now
    if (runs !== false) {
      const remedy =
        runs === true ? 'stop it first' : `stop it first, or remove ${file} if that is something else`;
      throw new StartError(`process ${launcher.pid} is using ${dataDir} already; ${remedy}`);
    }
    await Promise.all(Object.values(left.children).map((child) => endMarked(child, LEFTOVER_GRACE_MS)));
  }
  rmSync(file, { force: true });
}

/** Returns null for a damaged file, which is then replaced. */
function parse(text: string): Running | null {
  try {
    return JSON.parse(text) as Running;
  } catch {
    return null;
  }
}

function textOf(running: Running): string {
  return `${JSON.stringify(running, null, 2)}\n`;
}
