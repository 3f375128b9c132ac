import { recoveryFigure } from './recovery-figure.ts';

export const coldStart = recoveryFigure({
  id: 'cold-start',
  title: 'Recovery after a cold start under load',
  how: 'Events have been recorded for a second when a relay and a worker are started, after one another.',
  cold: true,
  async stumble(installation) {
    await installation.start('relay');
    await installation.start('worker');
  },
});
