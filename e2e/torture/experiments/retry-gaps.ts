import type { World } from '../harness/world/world.ts';

/** A retry may seem this early, because the log has times of two attempts in whole milliseconds. */
const EARLY_MS_MAX = 50;
/** The contract: a due retry starts within 1 s while capacity is free. */
const LATE_MS_MAX = 1_000;

/** Claims that attempt `attempt` of each delivery began `delayMs` after the end of the attempt before. */
export async function claimInTime(
  world: World,
  { attempt, delayMs, deliveries }: { attempt: number; delayMs: number; deliveries: number },
): Promise<void> {
  const [row] = await world.query<{ n: number; least: number; p99: number; most: number }>(
    `select count(*)::int as n, min(gap)::float8 as least, max(gap)::float8 as most,
            percentile_cont(0.99) within group (order by gap)::float8 as p99
     from (
       select b.attempt, extract(epoch from b.started_at - a.started_at) * 1000 - a.duration_ms as gap
       from attempts a
       join attempts b on b.delivery_id = a.delivery_id and b.attempt = a.attempt + 1
     ) gaps
     where attempt = $1`,
    [attempt],
  );
  const { n = 0, least = NaN, p99 = NaN, most = NaN } = row ?? {};
  world.claim(
    `attempt ${attempt} begins ${delayMs / 1_000} s after the end of the one before, at most ${LATE_MS_MAX / 1_000} s late`,
    n === deliveries && least >= delayMs - EARLY_MS_MAX && most <= delayMs + LATE_MS_MAX,
    `${Math.round(least)} to ${Math.round(most)} ms, p99 ${Math.round(p99)} ms, ${n} of ${deliveries} deliveries`,
  );
}
