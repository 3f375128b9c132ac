import { Buffer } from 'node:buffer';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { bootstrap } from './bootstrap.mjs';
import { buildReceiver, RECEIVER_INPUTS } from './build-receiver.mjs';
import { during, exitOnSetupError, say } from './setup-command.mjs';
import { withLock } from './lock.mjs';
import { NODE_FLOOR } from './node.mjs';
import { fingerprint, isMain, packageFolders, ROOT } from './workspace.mjs';

const DIST = join(ROOT, 'dist');
const STATE_FILE = join(DIST, '.build.json');
/** The folder with the style and the script of the console's pages. */
const CONSOLE_ASSETS = 'console-assets';
/** The package for customers, as `npm pack ./dist/receiver` takes it. */
const RECEIVER = 'receiver';
const APPS = ['api', 'relay', 'worker', 'inbound', 'console', 'all', 'cli', 'quickstart'];

/**
 * The first lines of each bundle. An old Node prints one line and exits. Bundled CommonJS packages call `require`, which
 * an ES module does not have.
 */
const BANNER = `
import { createRequire as __createRequire } from 'node:module';
{
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < ${NODE_FLOOR[0]} || (major === ${NODE_FLOOR[0]} && minor < ${NODE_FLOOR[1]})) {
    process.stderr.write('Postrider needs Node ${NODE_FLOOR.join('.')} or newer; this is ' + process.version + '\\n');
    process.exit(1);
  }
}
const require = __createRequire(import.meta.url);`;

/** A source map with one entry: the whole file begins at line 1. */
const FIRST_LINE_MAP = Buffer.from('{"version":3,"sources":[""],"mappings":"AAAA"}').toString('base64');

/**
 * For the code of npm packages, the source maps name the file and not the line. With these lines, the maps
 * have 17 MB. Node reads them when code first reads the stack of an error: that takes 90 MB, and half a
 * second of the event loop.
 */
const LINES_OF_OUR_CODE = {
  name: 'lines-of-our-code',
  setup: ({ onLoad }) =>
    onLoad({ filter: /[\\/]node_modules[\\/].*\.[cm]?js$/ }, async ({ path }) => ({
      contents: `${await readFile(path, 'utf8')}\n//# sourceMappingURL=data:application/json;base64,${FIRST_LINE_MAP}`,
      loader: 'default',
    })),
};

/**
 * When an ES module imports `node:http`, Node reads each export. Reading the export `WebSocket` loads the
 * HTTP client undici, which takes a tenth of the CPU time of a start. `require` reads no export.
 */
const HTTP_BY_REQUIRE = {
  name: 'http-by-require',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(node:)?http$/ }, ({ path, kind }) =>
      kind === 'import-statement' ? { path, namespace: 'by-require' } : undefined,
    );
    onLoad({ filter: /.*/, namespace: 'by-require' }, ({ path }) => ({
      contents: `module.exports = require(${JSON.stringify(path)});`,
    }));
  },
};

/**
 * Prisma has its query compiler as 4.6 MB of base64 in a module, which every process would parse and keep. So
 * the build writes `query-compiler.wasm` beside the bundles. A process reads it with its first query by
 * Prisma. Prisma passes `wasm` to `Buffer.from`, which takes the file's buffer as well as base64.
 */
const QUERY_COMPILER_BESIDE = {
  name: 'query-compiler-beside',
  setup({ onResolve, onLoad }) {
    onLoad({ filter: /query_compiler_\w+\.postgresql\.wasm-base64\.mjs$/ }, ({ path }) => ({
      contents: `import { readFileSync } from 'node:fs';
import file from 'query-compiler.wasm';
export const wasm = readFileSync(new URL(file, import.meta.url));`,
      pluginData: path,
    }));
    onResolve({ filter: /^query-compiler\.wasm$/ }, ({ path, pluginData }) => ({
      path,
      namespace: 'query-compiler',
      pluginData,
    }));
    onLoad({ filter: /.*/, namespace: 'query-compiler' }, async ({ pluginData: path }) => ({
      contents: Buffer.from((await import(pathToFileURL(path).href)).wasm, 'base64'),
      loader: 'file',
    }));
  },
};

/**
 * Bundles every process into `dist/NAME.js`, which runs without `node_modules`, and makes the package
 * `dist/receiver`. Does nothing when the sources are those of the last build. Several processes may call it:
 * one builds, and it replaces each file in one step.
 */
export async function buildIfStale() {
  if (isFresh(sourcesFingerprint())) return;
  const buildOnce = async () => {
    const sources = sourcesFingerprint();
    if (!isFresh(sources)) await during('building the programs', () => build(sources));
  };
  await withLock(ROOT, 'build', buildOnce, () => say('another process is building; waiting for it'));
}

/** The path of an app's bundle. */
export function bundleOf(app) {
  return join(DIST, `${app}.js`);
}

async function build(sources) {
  const result = await bundle({ entryPoints: entryPoints(), outdir: DIST, write: false });
  mkdirSync(DIST, { recursive: true });
  for (const file of result.outputFiles) replaceFile(file.path, file.contents);
  replaceFile(join(DIST, 'package.json'), '{ "type": "module" }\n'); // so that the folder runs alone, in an image
  buildReceiver(join(DIST, RECEIVER));
  cpSync(join(ROOT, 'apps/console/src', CONSOLE_ASSETS), join(DIST, CONSOLE_ASSETS), { recursive: true });
  const files = [...result.outputFiles.map(({ path }) => basename(path)), RECEIVER, CONSOLE_ASSETS];
  replaceFile(STATE_FILE, `${JSON.stringify({ sources, files })}\n`);
}

/** Bundles with the options of every build. @param options of esbuild, such as entry points and output */
export async function bundle(options) {
  const esbuild = await import('esbuild'); // may just have been installed
  return esbuild.build({
    absWorkingDir: ROOT,
    bundle: true,
    platform: 'node',
    target: 'node18', // so that an old Node can read the bundle and say that it is too old
    format: 'esm',
    sourcemap: true,
    sourcesContent: false,
    // V8 keeps the text of a bundle in memory. Without whitespace and comments it is a fifth shorter. One
    // character beyond Latin-1 makes V8 keep two bytes for each character. esbuild escapes such characters in
    // strings, so it writes templates as strings.
    minifyWhitespace: true,
    supported: { 'template-literal': false },
    legalComments: 'external',
    lineLimit: 200, // Node prints the line of an uncaught error
    banner: { js: BANNER },
    assetNames: '[name]',
    external: ['pg-native'], // optional; pg tries it and goes on without
    logLevel: 'warning',
    ...options,
    plugins: [QUERY_COMPILER_BESIDE, LINES_OF_OUR_CODE, HTTP_BY_REQUIRE, ...(options.plugins ?? [])],
  });
}

function entryPoints() {
  const candidates = [
    ...APPS.map((app) => [app, `apps/${app}/src/main.ts`]),
    ['parse-thread', 'packages/received-mail/src/parse-thread.ts'],
    ['authenticate-thread', 'packages/screening/src/authentication/authenticate-thread.ts'],
    ['bench', 'bench/src/main.ts'],
    ['bench-role', 'bench/src/roles/main.ts'],
    ['torture', 'e2e/torture/main.ts'],
  ];
  return Object.fromEntries(candidates.filter(([, path]) => existsSync(join(ROOT, path))));
}

function replaceFile(path, contents) {
  const draft = `${path}.${process.pid}.new`;
  try {
    writeFileSync(draft, contents);
    renameSync(draft, path);
  } finally {
    rmSync(draft, { force: true });
  }
}

function isFresh(sources) {
  if (!existsSync(STATE_FILE)) return false;
  const state = JSON.parse(readFileSync(STATE_FILE, 'utf8'));
  return state.sources === sources && state.files.every((name) => existsSync(join(DIST, name)));
}

function sourcesFingerprint() {
  return fingerprint(sourceFiles());
}

/** Every file that the build reads: sources, manifests and build scripts. Relative to the repository. */
export function sourceFiles() {
  const folders = packageFolders().filter((folder) => folder !== 'e2e');
  const sources = [
    ...folders.map((folder) => join(folder, 'src')),
    join('e2e', 'torture'),
    join('prisma', 'migrations'),
  ].flatMap(filesUnder);
  const manifests = folders.map((folder) => join(folder, 'package.json'));
  return [
    ...sources,
    ...manifests,
    ...RECEIVER_INPUTS.flatMap((path) => (statSync(join(ROOT, path)).isFile() ? [path] : filesUnder(path))),
    join('e2e', 'open-store.ts'),
    join('e2e', 'send-mail.ts'),
    'tsconfig.json',
    'pnpm-lock.yaml',
    join('scripts', 'build.mjs'),
    join('scripts', 'node.mjs'),
  ];
}

function filesUnder(folder) {
  const path = join(ROOT, folder);
  if (!existsSync(path)) return [];
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.test.ts'))
    .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length + 1));
}

if (isMain(import.meta.url)) {
  await exitOnSetupError(async () => {
    await bootstrap();
    await buildIfStale();
  });
}
