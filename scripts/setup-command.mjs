import { spawn, spawnSync } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { ROOT } from './workspace.mjs';

const SILENCE_MS_MAX = 2_500;

/** A fault of the set-up that the person at the terminal has to repair: printed as one line, without a stack. */
export class SetupError extends Error {}

/** Runs `main`. A failed set-up ends the process with one line and exit code 1. */
export async function exitOnSetupError(main) {
  try {
    await main();
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    say(error.message);
    process.exit(1);
  }
}

/** Writes to stderr: the command after the set-up may print a document on stdout. */
export function say(line) {
  process.stderr.write(`[setup] ${line}\n`);
}

/** Runs `work`. Says at once, and again every 2.5 s, what is happening. */
export async function during(words, work) {
  say(words);
  const timer = setInterval(() => say(`still at it: ${words}`), SILENCE_MS_MAX);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}

/**
 * Command and arguments of `npm` or `npx`: those of the npm that runs us, otherwise those on PATH. They run
 * with npm's own Node, because Debian's npm finds its modules only with Debian's Node.
 */
export function npmTool(name, args, env = process.env) {
  const { npm_node_execpath: node, npm_execpath: npm = npmOn(env.PATH) } = env;
  const program = join(dirname(npm), `${name}-cli.js`);
  return node !== undefined && existsSync(program) ? [node, [program, ...args]] : [name, args];
}

/** The file of npm on `path`, without its symbolic links. */
function npmOn(path = '') {
  const files = path.split(delimiter).map((folder) => join(folder, 'npm'));
  const file = files.find((each) => existsSync(each));
  return file === undefined ? '' : realpathSync(file);
}

/**
 * Runs a command in the root folder and waits for its end. Piped output is collected in `output`.
 * @throws SetupError unless it starts and ends with exit code 0
 */
export async function run(command, args, { stdio, output = [], env = {} }) {
  const environment = { ...process.env, ...env };
  delete environment.NODE_ENV; // `production` would leave out the packages that only the build needs
  const child = spawn(command, args, { cwd: ROOT, stdio, env: environment });
  child.stdout?.on('data', (chunk) => output.push(chunk));
  child.stderr?.on('data', (chunk) => output.push(chunk));
  const ended = await new Promise((resolve, reject) => {
    child.once('error', ({ code }) => reject(new SetupError(`${command} does not run here (${code})`)));
    child.once('close', (code, signal) => resolve(signal ?? code));
  });
  if (ended !== 0) throw new SetupError(`${[command, ...args].join(' ')} ended with ${ended}`);
}

/**
 * The files of the repository that match these patterns of git.
 * @throws SetupError without a clone, or when git does not trust it: it belongs to another user
 */
export function trackedFiles(...patterns) {
  const command = ['ls-files', ...patterns];
  const { error, status, stdout, stderr } = spawnSync('git', command, { cwd: ROOT, encoding: 'utf8' });
  if (status === 0) return stdout.split('\n').filter(Boolean);
  const [reason] = (error?.message ?? stderr).split('\n');
  throw new SetupError(`a git clone that belongs to you is needed: ${reason}`);
}
