import { expect, test } from '@jest/globals';
import { profilesPage } from './page/profiles-page.ts';
import { libraryTimes, selfTimes } from './profile.ts';

const frame = (functionName: string, lineNumber: number) => ({
  functionName,
  url: 'file:///somewhere/worker.js',
  lineNumber,
  columnNumber: 0,
});

test('functions are listed by the time spent in themselves, of all their calls together; rest is none', () => {
  const profile = {
    nodes: [
      { id: 1, callFrame: frame('post', 9) },
      { id: 2, callFrame: frame('', 4) },
      { id: 3, callFrame: frame('post', 9) },
      { id: 4, callFrame: frame('(idle)', -1) },
    ],
    samples: [1, 4, 2, 3],
    timeDeltas: [100, 9000, 250, 650],
  };
  expect(selfTimes(profile)).toEqual([' 75.0 %  post  worker.js:10', ' 25.0 %  (anonymous)  worker.js:5']);
});

test('native code and WebAssembly count as the library’s that called it, the collector as itself', () => {
  const native = (functionName: string) => ({ functionName, url: '', lineNumber: -1, columnNumber: -1 });
  const profile = {
    nodes: [
      { id: 1, callFrame: native('(root)'), children: [2, 3, 4, 8, 9] },
      { id: 2, callFrame: native('(garbage collector)') },
      { id: 3, callFrame: native('(idle)') },
      { id: 4, callFrame: frame('ours', 1), children: [5, 7] },
      { id: 5, callFrame: frame('theirs', 2), children: [6] },
      { id: 6, callFrame: native('hash'), children: [10] },
      { id: 10, callFrame: { ...native('inflate'), url: 'wasm://wasm/00d1cb12' } },
      { id: 7, callFrame: { ...frame('write', 5), url: 'node:net' } },
      { id: 8, callFrame: native('(program)') },
      { id: 9, callFrame: { ...frame('processTimers', 5), url: 'node:internal/timers' } },
    ],
    samples: [2, 3, 4, 5, 6, 7, 8, 9, 10],
    timeDeltas: [100, 9000, 200, 10, 30, 50, 5, 7, 2],
  };
  const sources = [
    '',
    '../apps/worker/src/main.ts',
    '../node_modules/.pnpm/@scope+lib@1.0.0/node_modules/@scope/lib/a.js',
  ];
  const micros = libraryTimes(profile, (_, line) => sources[line]);
  expect(Object.fromEntries(micros)).toEqual({
    'garbage collector': 100,
    Postrider: 200,
    '@scope/lib': 42,
    'Node: sockets, TLS, streams': 50,
    'Node: event loop': 12,
  });
});

test('the page has the libraries of each process, those with less than a percent together', () => {
  const worker = new Map([
    ['ioredis', 300],
    ['Postrider', 695],
    ['lru-cache', 5],
  ]);
  const relay = new Map([['ioredis', 10]]);
  const drain = new Map([
    ['worker', worker],
    ['relay', relay],
  ]);
  const page = profilesPage(new Map([['drain', drain]]), {
    command: 'npm run bench -- --only drain --profile',
    startedAt: '2026-01-02T03:04:05.678Z',
    machine: { cores: '2 × Some CPU' },
    versions: { 'Node.js': 'v24.0.0' },
  });
  expect(page).toContain(
    'Made by `npm run bench -- --only drain --profile --publish` on 2026-01-02, with Node v24.0.0 on 2 × Some CPU;',
  );
  expect(page).toContain(`## drain

| library    | relay   | worker |
| ---------- | ------- | ------ |
| Postrider  |         | 69.5 % |
| ioredis    | 100.0 % | 30.0 % |
| all others |         | 0.5 %  |
`);
});
