/**
 * The import rules of .dependency-cruiser.cjs, checked on the project and on a small tree of
 * planted violations: rules that cannot fail are no rules.
 */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import t from 'tap'
import ts from 'typescript'
import { backendsMax } from '../helpers/length.js'
import { placeOf, parse, projectRoot, runTool, sourceFiles, visitNodes } from './support.js'
import type { SourceFile } from './support.js'

interface Violation {
  readonly from: string
  readonly to: string
  readonly rule: { readonly name: string }
}

const configuration = join(projectRoot, '.dependency-cruiser.cjs')

/** Runs the rules over a directory; returns `rule: from -> to`, sorted. */
async function cruise(directory: string, folders: readonly string[]): Promise<string[]> {
  const script = 'dependency-cruiser/bin/dependency-cruise.mjs'
  const args = ['--config', configuration, '--output-type', 'json', ...folders]
  const { stdout, stderr } = await runTool(script, args, directory)
  let violations: Violation[]
  try {
    violations = (JSON.parse(stdout) as { summary: { violations: Violation[] } }).summary.violations
  } catch (cause) {
    throw new Error(`dependency-cruiser gave no report: ${stderr}`, { cause })
  }
  return violations.map(({ rule, from, to }) => `${rule.name}: ${from} -> ${to}`).sort()
}

/** Tests and benchmarks are looked at where there is time, as in `.ci/run`. */
const folders = ['src', 'native-free', 'bench', 'test'].slice(0, 2 * backendsMax)

void t.test('imports go downward only', async (t) => {
  const violations = await cruise(projectRoot, folders)
  t.strictSame(violations, [], 'violations of .dependency-cruiser.cjs')
})

/** Folders whose folders have levels of their own. */
const holders = ['hbase', 'storage', 'systems']

void t.test('every folder of src has a level', (t) => {
  const { forbidden } = createRequire(import.meta.url)(configuration) as {
    forbidden: { name: string }[]
  }
  const names = new Set(forbidden.map((rule) => rule.name))
  for (const folder of ['', ...holders]) {
    for (const entry of readdirSync(join(projectRoot, 'src', folder), { withFileTypes: true })) {
      if (!entry.isDirectory() || holders.includes(entry.name)) continue
      t.ok(names.has(`layer-${folder && `${folder}-`}${entry.name}`), join(folder, entry.name))
    }
  }
  t.end()
})

/** Planted files: text by path, imports as they should be or not. */
const planted: Readonly<Record<string, string>> = {
  'src/base/bytes.ts': 'export const a = 1\n',
  'src/base/upward.ts': "import { put } from '../table/table.js'\nexport const b = put\n",
  'src/base/loop-one.ts': "import { d } from './loop-two.js'\nexport const c = (): number => d()\n",
  'src/base/loop-two.ts': "import { c } from './loop-one.js'\nexport const d = (): number => c()\n",
  'src/base/type-one.ts': "import type { F } from './type-two.js'\nexport type E = F | 1\n",
  'src/base/type-two.ts': "import type { E } from './type-one.js'\nexport type F = { e?: E }\n",
  'test/suites/table/cases.ts':
    "import { Engine } from '../../../src/storage/engine/types.js'\nexport type E = Engine\n",
  'src/storage/fs/node-fs.ts': "import * as fs from 'node:fs'\nexport const read = fs.readSync\n",
  'src/storage/fs/memory-fs.ts':
    "import * as fs from 'node:fs/promises'\nexport const x = fs.open\n",
  'src/storage/codec/lz4.ts':
    "import { pack } from '../../../native-free/lz4.js'\nimport * as n from 'lz4-napi'\n" +
    'export const both = [pack, n]\n',
  'src/storage/codec/pool.ts': "import * as p from 'piscina'\nexport const pool = p\n",
  'src/systems/metastore/records/form.ts': "import * as p from 'piscina'\nexport const pool = p\n",
  'src/storage/wal/log.ts':
    "import { block } from '../sstable/blocks/block.js'\nexport const log = block\n",
  'src/storage/sstable/blocks/block.ts':
    "import { a } from '../../../base/bytes.js'\nimport * as x from 'xxhash-wasm'\n" +
    'export const block = [a, x]\n',
  'src/storage/engine/engine.ts':
    "import { pack } from '../../../native-free/lz4.js'\nexport const engine = pack\n",
  'src/storage/store/store.ts':
    "import type { Engine } from '../engine/types.js'\nexport type Store = Engine\n",
  'src/storage/engine/types.ts': 'export interface Engine { a: number }\n',
  'src/table/table.ts':
    "import { engine } from '../storage/engine/engine.js'\nimport { h } from '../../test/helper.js'\n" +
    'export const put = [engine, h]\n',
  'src/table/deep.ts': "import { put } from '../entries/index.js'\nexport const deep = put\n",
  'src/api/table.ts':
    "import type { Engine } from '../storage/engine/types.js'\nimport { a } from '../base/bytes.js'\n" +
    'export type Table = [Engine, typeof a]\n',
  'src/checks/forms.ts': 'export const check = 1\n',
  'src/comfort/pages.ts': "import { check } from '../checks/forms.js'\nexport const page = check\n",
  'src/systems/metastore/seam.ts':
    "import type { Table } from '../../api/table.js'\nexport type Seam = Table\n",
  'src/systems/metastore/store.ts':
    "import { put } from '../../entries/index.js'\nimport { a } from '../../base/bytes.js'\n" +
    'export const store = [put, a]\n',
  'src/systems/metastore/bookkeeper/tables/cursor.ts':
    "import { manager } from '../ledgers/manager.js'\nexport const cursor = manager\n",
  'src/systems/metastore/bookkeeper/ledgers/manager.ts': 'export const manager = 1\n',
  'src/systems/metastore/coordination/lock.ts':
    "import { store } from '../pulsar/store.js'\nexport const lock = store\n",
  'src/systems/metastore/pulsar/store.ts': 'export const store = 1\n',
  'src/systems/messaging/prune-job/hook.ts':
    "import { a } from '../../../base/bytes.js'\nimport { put } from '../../../entries/index.js'\n" +
    'export const hook = [a, put]\n',
  'src/systems/messaging/topics/topic.ts':
    "import { row } from '../store/rows.js'\nexport const topic = row\n",
  'src/systems/messaging/store/rows.ts': 'export const row = 1\n',
  'src/systems/transactions/manager/state.ts':
    "import { scope } from '../scope.js'\nexport const state = scope\n",
  'src/systems/transactions/scope.ts': 'export const scope = 1\n',
  'src/hbase/thrift/wire/codec.ts':
    "import { scanner } from '../scanner.js'\nexport const codec = scanner\n",
  'src/hbase/thrift/scanner.ts': 'export const scanner = 1\n',
  'src/comfort/keys/row-key.ts':
    "import { entries } from '../indexes/entries.js'\nexport const key = entries\n",
  'src/comfort/indexes/entries.ts': 'export const entries = 1\n',
  'src/systems/messaging/hub.ts':
    "import { store } from '../metastore/store.js'\nexport const hub = store\n",
  'src/systems/search/index.ts':
    "import { r } from '../repository/index.js'\nexport const search = r\n",
  'src/systems/repository/extraction/threads.ts': 'export const threads = 1\n',
  'src/systems/repository/extraction/formats/pdf.ts':
    "import { threads } from '../threads.js'\nexport const pdf = threads\n",
  'src/systems/repository/indexer/documents/builder.ts': 'export const builder = 1\n',
  'src/systems/repository/indexer/definition/chain.ts':
    "import { builder } from '../documents/builder.js'\nexport const chain = builder\n",
  'src/systems/search/solr-search.ts': 'export const solr = 1\n',
  'src/systems/search/embedded/plan.ts':
    "import { solr } from '../solr-search.js'\nexport const plan = solr\n",
  'src/systems/search/embedded/segments/merge.ts':
    "import { plan } from '../plan.js'\nexport const merge = plan\n",
  'src/systems/repository/index.ts':
    "import type { search } from '../search/index.js'\nexport const r: typeof search = 1\n",
  'src/systems/repository/values/text.ts':
    "import { row } from '../records/row.js'\nexport const text = row\n",
  'src/systems/repository/records/row.ts': 'export const row = 1\n',
  'src/systems/repository/records/reads/read.ts':
    "import { write } from '../writes/write.js'\nexport const read = write\n",
  'src/systems/repository/records/writes/write.ts': 'export const write = 1\n',
  'src/novel/thing.ts': "import { a } from '../base/bytes.js'\nexport const novel = a\n",
  'src/storage/scan/lost.ts': "import { a } from '../../base/absent.js'\nexport const lost = a\n",
  'src/systems/messaging/http/routes.ts':
    "import { hub } from '../hub.js'\nexport const routes = hub\n",
  'src/systems/messaging/served.ts':
    "import { routes } from './http/routes.js'\nexport const served = routes\n",
  'src/http/guard.ts':
    "import { routes } from '../systems/messaging/http/routes.js'\nexport const guard = routes\n",
  'src/entries/index.ts': "export { put } from '../table/table.js'\n",
  'native-free/lz4.ts':
    "import { a } from '../src/base/bytes.js'\nimport * as zlib from 'node:zlib'\n" +
    'export const pack = [a, zlib]\n',
  'bench/main.ts':
    "import { put } from '../src/entries/index.js'\nimport { engine } from '../src/storage/engine/engine.js'\n" +
    'export const bench = [put, engine]\n',
  'bench/micro/a.ts':
    "import { engine } from '../../src/storage/engine/engine.js'\n" +
    "import { h } from '../../test/helper.js'\nexport const micro = [engine, h]\n",
  'test/helper.ts': "import { a } from '../src/base/bytes.js'\nexport const h = a\n",
  'package.json': JSON.stringify({
    name: 'planted',
    type: 'module',
    dependencies: { 'xxhash-wasm': '1' },
    optionalDependencies: { 'lz4-napi': '1', piscina: '1' },
  }),
  ...stubPackage('lz4-napi'),
  ...stubPackage('piscina'),
  ...stubPackage('xxhash-wasm'),
}

function stubPackage(name: string): Record<string, string> {
  const description = { name, version: '1.0.0', main: 'index.js' }
  return {
    [`node_modules/${name}/package.json`]: JSON.stringify(description),
    [`node_modules/${name}/index.js`]: 'module.exports = {}\n',
  }
}

const expected = [
  'api-knows-no-backend: src/api/table.ts -> src/storage/engine/types.ts',
  'bench-knows-no-test: bench/micro/a.ts -> test/helper.ts',
  'bench-uses-the-public-api: bench/main.ts -> src/storage/engine/engine.ts',
  'cell-hooks-are-light: src/systems/messaging/prune-job/hook.ts -> src/entries/index.ts',
  'comfort-keys: src/comfort/keys/row-key.ts -> src/comfort/indexes/entries.ts',
  'file-system-is-injected: src/storage/fs/memory-fs.ts -> fs/promises',
  'hbase-thrift-wire: src/hbase/thrift/wire/codec.ts -> src/hbase/thrift/scanner.ts',
  'layer-base: src/base/upward.ts -> src/table/table.ts',
  'layer-comfort: src/comfort/pages.ts -> src/checks/forms.ts',
  'layer-http: src/http/guard.ts -> src/systems/messaging/http/routes.ts',
  'layer-storage-store: src/storage/store/store.ts -> src/storage/engine/types.ts',
  'layer-storage-wal: src/storage/wal/log.ts -> src/storage/sstable/blocks/block.ts',
  'layer-systems-metastore: src/systems/metastore/store.ts -> src/base/bytes.ts',
  'layer-systems-metastore: src/systems/metastore/store.ts -> src/entries/index.ts',
  'layer-systems-search: src/systems/search/index.ts -> src/systems/repository/index.ts',
  'layer-table: src/table/deep.ts -> src/entries/index.ts',
  'native-free-stands-alone: native-free/lz4.ts -> zlib',
  'native-free-through-codec: src/storage/engine/engine.ts -> native-free/lz4.ts',
  'no-cycle: src/base/loop-one.ts -> src/base/loop-two.ts',
  'no-unresolvable: src/storage/scan/lost.ts -> ../../base/absent.js',
  'packages-of-codec: src/storage/codec/pool.ts -> node_modules/piscina/index.js',
  'packages-of-records: src/systems/metastore/records/form.ts -> node_modules/piscina/index.js',
  'packages-through-codec: src/storage/sstable/blocks/block.ts -> node_modules/xxhash-wasm/index.js',
  'source-knows-no-test: src/table/table.ts -> test/helper.ts',
  'suites-see-the-seam: test/suites/table/cases.ts -> src/storage/engine/types.ts',
  'systems-know-no-http: src/systems/messaging/served.ts -> src/systems/messaging/http/routes.ts',
  'systems-messaging-topics: src/systems/messaging/topics/topic.ts -> src/systems/messaging/store/rows.ts',
  'systems-metastore-bookkeeper-tables: src/systems/metastore/bookkeeper/tables/cursor.ts -> src/systems/metastore/bookkeeper/ledgers/manager.ts',
  'systems-metastore-coordination: src/systems/metastore/coordination/lock.ts -> src/systems/metastore/pulsar/store.ts',
  'systems-repository-extraction-formats: src/systems/repository/extraction/formats/pdf.ts -> src/systems/repository/extraction/threads.ts',
  'systems-repository-indexer-definition: src/systems/repository/indexer/definition/chain.ts -> src/systems/repository/indexer/documents/builder.ts',
  'systems-repository-records-reads: src/systems/repository/records/reads/read.ts -> src/systems/repository/records/writes/write.ts',
  'systems-repository-values: src/systems/repository/values/text.ts -> src/systems/repository/records/row.ts',
  'systems-search-embedded-segments: src/systems/search/embedded/segments/merge.ts -> src/systems/search/embedded/plan.ts',
  'systems-search-embedded: src/systems/search/embedded/plan.ts -> src/systems/search/solr-search.ts',
  'systems-transactions-manager: src/systems/transactions/manager/state.ts -> src/systems/transactions/scope.ts',
  'unknown-folder: src/novel/thing.ts -> src/base/bytes.ts',
]

void t.test('the rules find planted violations and nothing else', async (t) => {
  const directory = t.testdir()
  for (const [path, text] of Object.entries(planted)) {
    mkdirSync(join(directory, dirname(path)), { recursive: true })
    writeFileSync(join(directory, path), text)
  }
  const found = await cruise(directory, ['src', 'native-free', 'bench', 'test'])
  t.strictSame(found, expected)
})

/**
 * Packages that are loaded by name at run time, and the only files that may name them. An import
 * declaration shows to dependency-cruiser, a string given to `require` does not.
 */
const packageHomes: Readonly<Record<string, RegExp>> = {
  piscina: /^src\/storage\/job\/threads\/worker-executor\.ts$/,
  'lz4-napi': /^src\/storage\/codec\//,
  'xxhash-wasm': /^src\/storage\/codec\//,
  '@bufbuild/protobuf/wire': /^src\/systems\/metastore\/records\//,
}

/** Every string literal that names a package outside its home. */
function packageNames(file: SourceFile): string[] {
  const found: string[] = []
  visitNodes(file.tree, (node) => {
    if (!ts.isStringLiteralLike(node) || !Object.hasOwn(packageHomes, node.text)) return
    // A type loads nothing: statistics say by name which implementation is at work.
    if (ts.isLiteralTypeNode(node.parent)) return
    if (!packageHomes[node.text].test(file.path)) found.push(`${placeOf(file, node)} ${node.text}`)
  })
  return found
}

void t.test('optional packages are named in one place each', (t) => {
  t.strictSame(sourceFiles('src', 'native-free').flatMap(packageNames), [])
  const naming = "const a = require('piscina')\nconst b = import('lz4-napi')\ntype C = 'piscina'\n"
  t.strictSame(packageNames(parse('src/storage/engine/a.ts', naming)), [
    'src/storage/engine/a.ts:1 piscina',
    'src/storage/engine/a.ts:2 lz4-napi',
  ])
  t.strictSame(packageNames(parse('src/storage/job/threads/worker-executor.ts', naming)), [
    'src/storage/job/threads/worker-executor.ts:2 lz4-napi',
  ])
  t.end()
})
