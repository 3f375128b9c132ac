'use strict';
const { ModernFakeTimers } = require('@jest/fake-timers');
const { ModuleMocker } = require('jest-mock');

/** Jest keeps this state on the global object. Each test file begins without it. */
const JEST_STATE = [
  'EVENT_HANDLERS',
  'RETRY_TIMES',
  'RETRY_TIMES_SETTER',
  'RETRY_IMMEDIATELY',
  'WAIT_BEFORE_RETRY',
  'LOG_ERRORS_BEFORE_RETRY',
  'TEST_TIMEOUT_SYMBOL',
].map((name) => Symbol.for(name));

/**
 * Runs test files in the main realm of their worker, as the product runs. Jest's own environment makes a `vm` context
 * for each file: an error of Node is no `instanceof Error` there, and every package is evaluated again.
 * After each file it restores what the file changed on `process` and `globalThis.console`.
 */
class OneRealmEnvironment {
  global = globalThis;
  fakeTimers = null;

  constructor({ projectConfig }) {
    for (const key of JEST_STATE) delete globalThis[key];
    this.moduleMocker = new ModuleMocker(globalThis);
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
    this.restore = rememberProcess();
  }

  async setup() {}

  async teardown() {
    this.fakeTimersModern?.dispose();
    this.fakeTimersModern = null;
    this.restore();
    forgetCircus();
  }

  exportConditions() {
    return ['node', 'node-addons'];
  }

  getVmContext() {
    return null;
  }
}

/** Frees the tests of this file. Each test file has its own jest-circus, which keeps them under a symbol. */
function forgetCircus() {
  for (const key of Object.getOwnPropertySymbols(globalThis)) {
    if (key.description === 'JEST_STATE_SYMBOL') delete globalThis[key];
  }
}

function rememberProcess() {
  const env = { ...process.env };
  const { exit, exitCode } = process;
  const { console } = globalThis;
  const cwd = process.cwd();
  const listeners = new Map(process.eventNames().map((name) => [name, process.rawListeners(name)]));
  return () => {
    for (const key of Object.keys(process.env)) if (!(key in env)) delete process.env[key];
    for (const [key, value] of Object.entries(env)) if (process.env[key] !== value) process.env[key] = value;
    process.exit = exit;
    if (process.exitCode !== exitCode) process.exitCode = exitCode;
    globalThis.console = console;
    if (process.cwd() !== cwd) process.chdir(cwd);
    for (const name of process.eventNames()) {
      const before = listeners.get(name) ?? [];
      for (const listener of process.rawListeners(name)) {
        if (!before.includes(listener)) process.removeListener(name, listener);
      }
    }
  };
}

module.exports = OneRealmEnvironment;
