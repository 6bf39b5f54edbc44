/** `cellar metrics`: the figures of a directory, or of a server that runs, for Prometheus. */
import { figuresText } from '../../metrics/index.js'
import { serverClient } from '../../server/database/client.js'
import { tokenOf } from '../messaging-cli.js'
import { showStatistics, type LookingWords } from './looking.js'
import { looking } from './open.js'
import { Output } from './output.js'

/**
 * Writes the figures: those of the server with `--url`, else those that the directory shows. As
 * JSON they are those of `cellar stats`.
 */
export async function showMetrics(words: LookingWords): Promise<void> {
  if (words.json === true) return showStatistics(undefined, words)
  const output = new Output(false)
  if (words.url !== undefined) {
    await output.line((await fetchMetrics(words.url, await tokenOf(words))).trimEnd())
    return
  }
  await looking(words, async (database) => output.line(figuresText([database]).trimEnd()))
}

async function fetchMetrics(url: string, token: string | undefined): Promise<string> {
  return serverClient(url, token, '').call('GET', '/metrics', (body) => body.toString('utf8'))
}
