import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withLock } from './lock.mjs';
import { ensureNode } from './node.mjs';
import { during, exitOnSetupError, npmTool, run, say } from './setup-command.mjs';
import { fingerprint, isMain, packageFolders, ROOT } from './workspace.mjs';

const STATE_FILE = join(ROOT, 'node_modules', '.setup.json');
/** `npm install` leaves this file. Then the packages are not those of pnpm's lockfile. */
const NPM_FILE = join(ROOT, 'node_modules', '.package-lock.json');
const GENERATED = join(ROOT, 'packages', 'store', 'src', 'generated');

/** pnpm's program is an optional package. The user's .npmrc may omit optional packages. */
const NPX_FLAGS = ['-y', '--include=optional'];

/**
 * Makes the repository ready to run with nothing but Node and npm: a recent Node, the packages of the lockfile, and the
 * generated database client. Costs a few milliseconds when all three are there. Writes to stderr only.
 *
 * Every script calls this first. On an old Node this process only waits for the one that runs the script again, so
 * whatever a script imports statically has to load on Node 18.
 */
export async function bootstrap() {
  await ensureNode();
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
  if (existsSync(NPM_FILE)) return false;
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
  const startedAt = performance.now();
  rmSync(STATE_FILE, { force: true }); // if this install breaks off, no file says that it is complete
  await during(`installing packages with ${packageManager}; the first time takes about 20 seconds`, () =>
    // stdout goes to stderr; without stdin nothing can ask a question.
    run(...npmTool('npx', [...NPX_FLAGS, packageManager, 'install', '--frozen-lockfile']), {
      stdio: ['ignore', 2, 2],
      env: { npm_config_update_notifier: 'false' },
    }),
  );
  rmSync(NPM_FILE, { force: true });
  writeState({ install: installFingerprint(packageFolders()) });
  say(`packages installed in ${seconds(startedAt)}`);
}

async function generate() {
  const startedAt = performance.now();
  const { install } = readState();
  writeState({ install }); // if this step breaks off, the file does not say that it is complete
  const output = [];
  const cli = join(ROOT, 'node_modules', 'prisma', 'build', 'index.js');
  const env = {
    // The client needs no schema engine. The CLI downloads one unless this file exists and is executable.
    PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
    CHECKPOINT_DISABLE: '1',
  };
  await during('generating the database client', () =>
    run(process.execPath, [cli, 'generate'], { stdio: ['ignore', 'pipe', 'pipe'], output, env }),
  ).catch((error) => {
    process.stderr.write(Buffer.concat(output));
    throw error;
  });
  writeState({ install, generate: generateFingerprint() });
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

/** Empty when the file is missing or damaged, such as by a full disk. The set-up then runs again. */
function readState() {
  try {
    return readJson(STATE_FILE);
  } catch {
    return {};
  }
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

if (isMain(import.meta.url)) await exitOnSetupError(bootstrap);
