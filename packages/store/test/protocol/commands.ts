import fc from 'fast-check';
import { alone, pause, story, together } from './plans.ts';
import type { Pause, Round, Story } from './plans.ts';
import { passTime, runRound } from './round.ts';
import type { State } from './state.ts';
import type { World } from './world.ts';

/** fast-check hands the same model to each command: the state that the model is in. */
export interface Model {
  state: State;
}

type Command = fc.AsyncCommand<Model, World>;

export function commandOf(steps: Story): Command {
  return {
    check: () => true,
    run: async (model, world) => {
      for (const step of steps) {
        model.state =
          'ticks' in step
            ? await passTime(world, model.state, step.ticks)
            : await runRound(world, model.state, step);
      }
    },
    toString: () => steps.map(shown).join(', then '),
  };
}

function shown(step: Round | Pause): string {
  if ('ticks' in step) return `${step.ticks} ticks pass`;
  const threads = step.threads.map((plan) => JSON.stringify(plan)).join(' | ');
  return step.gate !== null ? `behind a gate of ${step.gate}: ${threads}` : threads;
}

/** @param replayPath as fast-check prints it with a counterexample. */
export function protocolCommands(replayPath: string | undefined): fc.Arbitrary<Iterable<Command>> {
  const single = fc.oneof(
    { weight: 4, arbitrary: alone },
    { weight: 5, arbitrary: together },
    { weight: 2, arbitrary: pause },
  );
  const commands = [
    single.map((step) => commandOf([step])),
    single.map((step) => commandOf([step])),
    single.map((step) => commandOf([step])),
    story.map(commandOf),
  ];
  return fc.commands(commands, {
    ...{ maxCommands: 30, size: 'max' },
    ...(replayPath === undefined ? {} : { replayPath }),
  });
}
