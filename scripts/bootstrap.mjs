import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { withLock } from './lock.mjs';
import { fingerprint, packageFolders, ROOT } from './workspace.mjs';

const NODE_MINIMUM = [20, 19];
const STATE_FILE = join(ROOT, 'node_modules', '.setup.json');
const GENERATED = join(ROOT, 'packages', 'store', 'src', 'generated');

/**
 * Makes the repository ready to run with nothing but Node and npm: the packages of the lockfile, and the generated
 * database client. Costs a few milliseconds when both are current. Writes to stderr only, because what it prepares may
 * print a document on stdout.
 */
export async function bootstrap() {
  checkNode();
  if (isCurrent()) return;
  await withLock(ROOT, 'setup', prepare, () => say('another process is setting up; waiting for it'));
}

async function prepare() {
  if (!isInstalled()) await install();
  if (!isGenerated()) await generate();
}

function isCurrent() {
  return isInstalled() && isGenerated();
}

function isInstalled() {
  const folders = packageFolders();
  if (readState().install !== installFingerprint(folders)) return false;
  return ['.', ...folders.filter(hasDependencies)].every((folder) =>
    existsSync(join(ROOT, folder, 'node_modules')),
  );
}

function isGenerated() {
  return readState().generate === generateFingerprint() && existsSync(GENERATED);
}

async function install() {
  const { packageManager } = readJson(join(ROOT, 'package.json'));
  say(`installing packages with ${packageManager}; the first time takes about 20 seconds`);
  const startedAt = performance.now();
  // stdout goes to stderr; without stdin nothing can ask a question.
  await run(...npx(['-y', packageManager, 'install', '--frozen-lockfile']), {
    stdio: ['ignore', 2, 2],
    env: { npm_config_update_notifier: 'false' },
  });
  writeState({ install: installFingerprint(packageFolders()) });
  say(`packages installed in ${seconds(startedAt)}`);
}

async function generate() {
  const startedAt = performance.now();
  const output = [];
  const cli = join(ROOT, 'node_modules', 'prisma', 'build', 'index.js');
  await run(process.execPath, [cli, 'generate'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    output,
    env: {
      // The client is generated without the schema engine, yet the CLI wants to see one: it checks that a file is
      // there and can run, and would else download it.
      PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
      CHECKPOINT_DISABLE: '1',
    },
  }).catch((error) => {
    process.stderr.write(Buffer.concat(output));
    throw error;
  });
  writeState({ ...readState(), generate: generateFingerprint() });
  say(`database client generated in ${seconds(startedAt)}`);
}

function installFingerprint(folders) {
  const manifests = ['.', ...folders].map((folder) => join(folder, 'package.json'));
  return fingerprint(
    [...manifests, 'pnpm-lock.yaml', 'pnpm-workspace.yaml', '.npmrc'],
    process.version,
    process.platform,
    process.arch,
  );
}

function generateFingerprint() {
  return fingerprint(['prisma/schema.prisma', 'prisma.config.ts'], readState().install ?? '');
}

function hasDependencies(folder) {
  const manifest = readJson(join(ROOT, folder, 'package.json'));
  return Object.keys({ ...manifest.dependencies, ...manifest.devDependencies }).length > 0;
}

/** The npx that belongs to the npm we run under, else the one on PATH. */
function npx(args) {
  const beside = join(dirname(process.env.npm_execpath ?? ''), 'npx-cli.js');
  const command =
    process.env.npm_execpath !== undefined && existsSync(beside) ? [process.execPath, beside] : ['npx'];
  return [command[0], [...command.slice(1), ...args]];
}

async function run(command, args, { stdio, output = [], env = {} }) {
  const environment = { ...process.env, ...env };
  delete environment.NODE_ENV; // `production` would leave the build's own packages out
  const shell = process.platform === 'win32' && command === 'npx'; // a .cmd file there
  const child = spawn(command, args, { cwd: ROOT, stdio, shell, env: environment });
  child.stdout?.on('data', (chunk) => output.push(chunk));
  child.stderr?.on('data', (chunk) => output.push(chunk));
  const ended = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(signal ?? code));
  });
  if (ended !== 0) throw new SetupError(`${[command, ...args].join(' ')} ended with ${ended}`);
}

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > NODE_MINIMUM[0] || (major === NODE_MINIMUM[0] && minor >= NODE_MINIMUM[1])) return;
  throw new SetupError(`Node ${NODE_MINIMUM.join('.')} or newer is needed; this is ${process.version}`);
}

/** Something that the person at the terminal has to put right: printed as one line, without a stack. */
class SetupError extends Error {}

/** Runs `main` and turns a failed set-up into one line and exit code 1. */
export async function exitOnSetupError(main) {
  try {
    await main();
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    say(error.message);
    process.exit(1);
  }
}

function readState() {
  return existsSync(STATE_FILE) ? readJson(STATE_FILE) : {};
}

function writeState(state) {
  writeFileSync(STATE_FILE, `${JSON.stringify(state)}\n`);
}

function readJson(file) {
  return JSON.parse(readFileSync(file, 'utf8'));
}

function seconds(startedAt) {
  return `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
}

function say(line) {
  process.stderr.write(`[setup] ${line}\n`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await exitOnSetupError(bootstrap);
