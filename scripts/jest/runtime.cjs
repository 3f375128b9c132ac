'use strict';
const { createRequire } = require('node:module');
const { sep } = require('node:path');
const { pathToFileURL } = require('node:url');
const vm = require('node:vm');
const JestRuntime = require('jest-runtime').default;

const PACKAGES = `${sep}node_modules${sep}`;
const CIRCUS = `${sep}jest-circus${sep}build${sep}`;

/** The compiled form of our modules, by path. A worker parses each once, and not again for each test file. */
const compiled = new Map();

/** Jest makes an instance for each of our modules and each test file. */
class CompiledOnceModule extends vm.SourceTextModule {
  constructor(code, options) {
    const known = compiled.get(options.identifier);
    if (known?.code === code) {
      try {
        super(code, { ...options, cachedData: known.cachedData });
        return;
      } catch (error) {
        if (error.code !== 'ERR_VM_MODULE_CACHED_DATA_REJECTED') throw error; // a test has changed flags of V8
      }
    }
    super(code, options);
    if (options.identifier.endsWith('.test.ts')) return; // loaded once
    compiled.set(options.identifier, { code, cachedData: this.createCachedData() });
  }
}
vm.SourceTextModule = CompiledOnceModule;

/** pnpm's links resolve to real paths, so our own packages are not below node_modules. */
const isPackage = (path) => path.includes(PACKAGES) && !path.endsWith('.json') && !path.endsWith('.wasm');

/**
 * Loads packages of node_modules as Node does, once for all test files of a worker. Evaluates our own modules anew for
 * each file. It overrides members of Jest's runtime that are not public, so jest-runtime is pinned, and
 * one-realm.test.ts checks what this class promises.
 */
class OneRealmRuntime extends JestRuntime {
  constructor(...args) {
    super(...args);
    const { esmLoader, executor, registries } = this;
    this._resolution.hasDistinctAsyncResolver = () => true; // otherwise synchronous on Node 22 and newer
    esmLoader.getContext = () => undefined; // the main realm

    const loadOurs = esmLoader.loadEsmModule.bind(esmLoader);
    esmLoader.loadEsmModule = (path, suffix = '') =>
      isPackage(path) ? loadPackage(path, suffix) : loadOurs(path, suffix);

    const loadCommonJs = esmLoader.loadCjsAsEsm.bind(esmLoader);
    esmLoader.loadCjsAsEsm = (from, path, suffix, context) =>
      isPackage(path) ? loadPackage(path, suffix) : loadCommonJs(from, path, suffix, context);

    executor.compile = (source, filename) =>
      vm.compileFunction(source, executor.injectedModuleParameters, {
        filename,
        importModuleDynamically: (specifier, _function, attributes) =>
          executor.dynamicImport(specifier, filename, undefined, attributes),
      });

    async function loadPackage(path, suffix) {
      const registry = registries.getActiveEsmRegistry();
      const url = `${pathToFileURL(path).href}${suffix}`;
      if (!registry.has(url)) {
        const namespace = await import(url);
        if (!registry.has(url)) registry.set(url, syntheticModule(namespace, path));
      }
      return registry.get(url);
    }
  }

  requireModule(from, moduleName, options, isRequireActual) {
    const path = this.packageFile(from, moduleName);
    return path === undefined
      ? super.requireModule(from, moduleName, options, isRequireActual)
      : createRequire(from)(path);
  }

  /** The file of node_modules that `require(moduleName)` in `from` loads; undefined for our own files and Node's modules. */
  packageFile(from, moduleName) {
    if (moduleName === undefined) return isPackage(from) ? from : undefined;
    if (this._resolution.isCoreModule(moduleName)) return undefined;
    const path = this._resolution.resolveCjs(from, moduleName);
    return isPackage(path) ? path : undefined;
  }

  requireInternalModule(from, to) {
    const require = createRequire(from);
    const path = to === undefined ? from : require.resolve(to);
    if (path.includes(CIRCUS)) delete require.cache[path]; // jest-circus keeps the state of one test file
    return require(path);
  }
}

function syntheticModule(namespace, identifier) {
  const names = Object.keys(namespace);
  return new vm.SyntheticModule(
    names,
    function () {
      for (const name of names) this.setExport(name, namespace[name]);
    },
    { identifier },
  );
}

module.exports = OneRealmRuntime;
module.exports.default = OneRealmRuntime;
Object.defineProperty(module.exports, '__esModule', { value: true });
