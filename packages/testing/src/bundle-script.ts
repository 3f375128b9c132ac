import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const BUILD = new URL('../../../scripts/build.mjs', import.meta.url).href;

export interface BundledScript {
  readonly path: string;
  remove(): void;
}

/** Bundles the entry point of a worker thread as scripts/build.mjs does. */
export function bundleScript(entry: URL): BundledScript {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-thread-'));
  const path = join(folder, 'thread.mjs');
  const options = JSON.stringify({ entryPoints: [fileURLToPath(entry)], outfile: path });
  execFileSync(process.execPath, [
    '--input-type=module',
    '--eval',
    `import { bundle } from ${JSON.stringify(BUILD)}; await bundle(${options});`,
  ]);
  return { path, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
