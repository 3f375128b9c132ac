/**
 * Charges one key. Redis runs a script as one step, with one reading of its clock.
 *
 * Guarantee: of any number of concurrent charges, those that return 1 never cost more than the limit in one window,
 * but for the first of a window, which may cost anything. A refused charge changes nothing, the window's end
 * least of all.
 *
 * KEYS[1] counter of the key; it exists for the length of its window.
 * ARGV[1] cost, ARGV[2] limit, ARGV[3] length in milliseconds of a window that begins now.
 * Returns 1 when allowed, 0 when refused.
 */
export const CHARGE_SCRIPT = `
local used = redis.call('GET', KEYS[1])
if not used then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])
  return 1
end
if tonumber(used) + tonumber(ARGV[1]) > tonumber(ARGV[2]) then
  return 0
end
redis.call('INCRBY', KEYS[1], ARGV[1])
return 1
`;
