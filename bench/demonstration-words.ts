/** What the demonstrations that kill processes have in common: their words and their output. */

/** The words of a demonstration. */
export interface RoundsAndSeed {
  readonly rounds: number
  readonly seed: number
}

/**
 * Reads `[rounds] [seed]`; the defaults are 12 and 1. Other words end the process with exit code 2
 * and the usage, `--help` with 0: without a kill the demonstration would show nothing.
 */
export function roundsAndSeed(name: string, words: readonly string[]): RoundsAndSeed {
  const usage = `usage: npm run ${name} -- [ROUNDS] [SEED], two whole numbers, ROUNDS above 0\n`
  if (words.length === 1 && words[0] === '--help') {
    process.stdout.write(usage)
    process.exit(0)
  }
  const numbers = words.map((word) => (/^\d{1,9}$/.test(word) ? Number(word) : NaN))
  const [rounds = 12, seed = 1] = numbers
  if (words.length > 2 || numbers.some(Number.isNaN) || rounds === 0) {
    process.stderr.write(usage)
    process.exit(2)
  }
  return { rounds, seed }
}

/** Goes on when the reader of the output has seen enough, so that directories are removed. */
export function outliveReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
}
