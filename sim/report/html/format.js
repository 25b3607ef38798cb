// How numbers look: as in the program's own text reports, four significant digits with a unit.
import { format } from "d3-format";

const count0 = format(",d");
const percent1 = format(".1f");

function digits(x) {
  const size = Math.abs(x);
  return size < 10 ? 3 : size < 100 ? 2 : size < 1000 ? 1 : 0;
}

export function duration(seconds) {
  const size = Math.abs(seconds);
  if (size === 0) return "0 s";
  for (const [unit, name] of [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]])
    if (size >= unit) return `${(seconds / unit).toFixed(digits(seconds / unit))} ${name}`;
  return `${Math.round(seconds * 1e12)} ps`;
}

export const picoseconds = (ps) => duration(ps / 1e12);
export const nanoseconds = (ns) => duration(ns / 1e9);
export const percent = (fraction) => `${percent1(fraction * 100)} %`;
export const percent2 = (fraction) => `${(fraction * 100).toFixed(2)}`;
export const count = (n) => count0(n);
export const whole = (x) => count0(Math.round(x));
export const gib = (bytes) => (bytes / 1073741824).toFixed(2);
export const gigabytes = (bytes) => (bytes / 1e9).toFixed(digits(bytes / 1e9));
export const decimal1 = (x) => x.toFixed(1);
export const ratio = (x) => x.toFixed(2);
export const text = (x) => String(x);
export const signedDuration = (s) => `${s < 0 ? "−" : "+"}${duration(Math.abs(s))}`;

// Ticks of a time axis share one unit: axisTime(12.5) -> seconds => "2.5 s".
export function axisTime(longest) {
  const [unit, name] = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]].find(([u]) => longest >= u) ?? [1e-9, "ns"];
  return (seconds) => `${+(seconds / unit).toPrecision(10)} ${name}`;
}
