/** `03:07` */
export function duration(seconds: number): string {
  const whole = Math.round(seconds);
  return `${String(Math.floor(whole / 60)).padStart(2, '0')}:${String(whole % 60).padStart(2, '0')}`;
}

/** @returns a function that writes a line of progress with the elapsed and the largest remaining time */
export function startProgress(limitSeconds: number, write: (text: string) => void): (line: string) => void {
  const begun = performance.now();
  return (line) => {
    const gone = (performance.now() - begun) / 1000;
    write(`[bench] ${duration(gone)} (at most ${duration(Math.max(0, limitSeconds - gone))} left) ${line}\n`);
  };
}
