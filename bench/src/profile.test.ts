import { expect, test } from '@jest/globals';
import { selfTimes } from './profile.ts';

const frame = (functionName: string, lineNumber: number) => ({
  functionName,
  url: 'file:///somewhere/worker.js',
  lineNumber,
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
