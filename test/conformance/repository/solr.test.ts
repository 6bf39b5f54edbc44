/**
 * The suite of search backends against a real Apache Solr 8, if there is one: either an empty core
 * with the schema beside this file, at CELLAR_SOLR_URL, or a folder with the jars of Solr, which
 * Maven fetches:
 *
 *     mvn -f test/conformance/repository/solr/pom.xml dependency:copy-dependencies
 *     export CELLAR_SOLR_JARS=test/conformance/repository/solr/target/dependency
 */
import { spawn } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import { runSearchSuite } from './suite.js'
import { projectRoot } from '../../helpers/project-root.js'
import { SolrSearch } from '../../../src/systems/repository/index.js'

const url = process.env['CELLAR_SOLR_URL']
const jars = process.env['CELLAR_SOLR_JARS']
const skip =
  url === undefined && jars === undefined && 'no Solr: set CELLAR_SOLR_URL or CELLAR_SOLR_JARS'

t.setTimeout(1_800_000)

/** Starts Solr on a copy of the folder beside this file; the address of its core. */
async function startSolr(folder: string): Promise<{ url: string; stop(): Promise<void> }> {
  const source = join(projectRoot, 'test/conformance/repository/solr')
  const home = mkdtempSync(join(tmpdir(), 'cellar-solr-'))
  cpSync(join(source, 'home'), home, { recursive: true })
  const program = join(source, 'SolrServer.java')
  const child = spawn('java', ['-cp', join(resolve(folder), '*'), program, home], {
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const ended = new Promise<void>((done) => child.once('exit', () => done()))
  for await (const line of createInterface({ input: child.stdout })) {
    const port = /^port (\d+)$/.exec(line)?.[1]
    if (port === undefined) continue
    const stop = async (): Promise<void> => {
      child.stdin.end()
      await ended
      rmSync(home, { recursive: true, force: true })
    }
    return { url: `http://127.0.0.1:${port}/solr/records`, stop }
  }
  throw new Error('Solr did not start')
}

void t.test('Apache Solr', { skip }, async (t) => {
  const solr =
    url === undefined
      ? await startSolr(jars!)
      : { url, stop: (): Promise<void> => Promise.resolve() }
  try {
    const open = async (): ReturnType<Parameters<typeof runSearchSuite>[1]['open']> => {
      let search = new SolrSearch({ url: solr.url })
      await search.clear()
      const reopen = async (): Promise<SolrSearch> => {
        await search.close()
        search = new SolrSearch({ url: solr.url })
        return search
      }
      return { search, reopen, close: () => search.close() }
    }
    t.ok((await runSearchSuite(t, { name: 'Apache Solr', open })).run > 0)
  } finally {
    await solr.stop()
  }
})
