/** `cellar compact`: merges the files of a closed database, or of a server. */
import { RemoteDatabase } from '../../server/database/client.js'
import { compactedBy, type Compacted } from '../../server/database/views.js'
import { tokenOf } from '../messaging-cli.js'
import type { LookingWords } from './looking.js'
import { looking, writing } from './open.js'
import { Output, shownSize } from './output.js'
import { Progress } from './progress.js'

/** Options of `cellar compact`. */
export interface CompactWords extends LookingWords {
  readonly family?: string
  readonly minor?: true
}

/** Compacts a table, or all. */
export async function compact(table: string | undefined, words: CompactWords): Promise<void> {
  const output = new Output(words.json === true)
  const { url, family, minor } = words
  const done =
    url === undefined
      ? await compactDirectory(table, words)
      : await new RemoteDatabase(url, await tokenOf(words)).compact({ table, family, minor })
  if (output.json) await output.value(done)
  else {
    const [before, after] = [done.bytesBefore, done.bytesAfter].map(shownSize)
    await output.line(`SSTables: ${before} before, ${after} after`)
  }
}

function compactDirectory(table: string | undefined, words: CompactWords): Promise<Compacted> {
  const progress = new Progress('compacting')
  const major = words.minor !== true
  const options = { major, family: words.family, onProgress: progress.part }
  return compactedBy(
    table,
    () => looking(words, async (database) => database.statistics()),
    () =>
      writing(words, (database) => database.compact(table, options)).finally(() => progress.end()),
  )
}
