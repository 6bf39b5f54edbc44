/**
 * The package as users get it: packed, installed into fresh projects, compiled, bundled, and run on
 * several versions of Node, on Bun and on Deno.
 *
 * Needs the registry, downloads some 300 MB and takes minutes, so it runs where
 * `CELLAR_INSTALL_TEST=1` asks for it, as `.ci/run` does.
 *
 * @runs alone
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { generatorOf } from '../crash/recovery.js'
import {
  runtimeAt,
  RuntimesTest,
  thisRuntime,
  type Runtime,
} from '../crash/runtimes/runtimes-runner.js'
import {
  hasRegistry,
  makeDirectory,
  npm,
  pack,
  program,
  Projects,
  run,
  runNode,
  write,
} from './projects.js'

const importing = program("import { Database } from 'cellardb'")
const requiring = program("const { Database } = require('cellardb')")

// Downloads count.
t.setTimeout(1_800_000)

/** Each version of Node has a binary of its own in this package. */
const nodePackage = `node-${process.platform}-${process.arch}`
const nodeVersions = ['20', '22', '24', '26']

const rows = 2000

const typescript = `
import { Database, defineTable, encodings, readPage, type Check, type Put } from 'cellardb'
import { CellarMetaStore } from 'cellardb/metastore'

export async function use(maybe: number | undefined): Promise<readonly string[] | undefined> {
  const db = await Database.open('./data', { flushBytes: maybe })
  const table = await db.ensureTable('t', { families: { f: { versions: maybe } } })
  const put: Put = { row: 'r', cells: { 'f:v': 'v' }, timestamp: maybe }
  await table.put(put)
  // @ts-expect-error Two conditions are none.
  const check: Check = { row: 'r', column: 'f:v', equals: 'v', notExists: true }
  void check
  const page = await readPage(table, { limit: 10, prefix: 'r' })
  const users = await defineTable({
    name: 't',
    key: { id: 'utf8' },
    columns: { tags: encodings.json<string[]>() },
  }).open(db)
  const found: bigint | undefined = page.rows[0]?.value('f:n', 'int64')
  void found
  void new CellarMetaStore()
  return (await users.get('r'))?.tags
}
`

const strictFlags = [
  '--strict',
  '--exactOptionalPropertyTypes',
  '--noUncheckedIndexedAccess',
  '--noImplicitOverride',
  '--noPropertyAccessFromIndexSignature',
  '--noUnusedLocals',
  '--verbatimModuleSyntax',
  '--skipLibCheck',
  'false',
  '--noEmit',
  '--target',
  'es2022',
  '--types',
  'node',
]

/** Other runtimes, each in a package of its name. */
const otherRuntimes = ['bun@1', 'deno@2']

const seed = Number(process.env['CELLAR_SEED'] ?? 20261122)

/** The runtime of a package; undefined if it cannot be had for this machine. */
async function obtained(made: Promise<string>, packageName: string): Promise<Runtime | undefined> {
  try {
    return runtimeAt(join(await made, 'node_modules', '.bin', packageName.split('@')[0]))
  } catch {
    return undefined
  }
}

/** The program as ES module and by `require`, in one runtime. */
async function runPrograms(t: Test, app: string, runtime: Runtime): Promise<void> {
  for (const script of ['app.mjs', 'app.cjs']) {
    const outcome = await run(app, script, runtime)
    t.strictSame(outcome, { rows, executor: 'worker', warnings: [] }, `${script}, ${runtime.name}`)
  }
}

/** Why nothing is installed; false if it is. */
async function reasonToSkip(): Promise<string | false> {
  if (process.env['CELLAR_INSTALL_TEST'] !== '1') return 'CELLAR_INSTALL_TEST=1 runs it'
  return (await hasRegistry()) ? false : 'the registry does not answer'
}

void t.test('the packed package', { skip: await reasonToSkip() }, async (t) => {
  const { path: root, remove } = makeDirectory()
  t.teardown(remove)
  const tarball = await pack(root)
  const projects = new Projects(root)
  const appTools = ['typescript@6.0', '@types/node@20', '@bufbuild/protobuf@2']
  const appMade = projects.make('app', [tarball, ...appTools])
  const bareMade = projects.make('bare', [tarball], ['--omit=optional'])
  const nodesMade = nodeVersions.map((version) => {
    return projects.make(`node-${version}`, [`${nodePackage}@${version}`])
  })
  const othersMade = otherRuntimes.map((name) => projects.make(name, [name]))
  const bundlers = ['esbuild@0.28', 'rollup@4', '@rollup/plugin-node-resolve@16', 'webpack@5']
  const bundledMade = projects.make('bundled', [tarball, ...bundlers, 'webpack-cli@7'])

  await t.test('publint and are-the-types-wrong have no complaints', async (t) => {
    const { publint } = await import('publint')
    const content = readFileSync(tarball)
    const buffer = content.buffer.slice(content.byteOffset, content.byteOffset + content.byteLength)
    const { messages } = await publint({ pack: { tarball: buffer }, strict: true })
    t.strictSame(messages, [])
    const { checkPackage, createPackageFromTarballData } = await import('@arethetypeswrong/core')
    const checked = await checkPackage(createPackageFromTarballData(new Uint8Array(buffer)))
    const problems = 'problems' in checked ? checked.problems : []
    // An ES module: `require` of it works in every supported Node, node10 is none of them.
    const isExpected = (problem: { kind: string; resolutionKind?: string }): boolean =>
      problem.kind === 'CJSResolvesToESM' || problem.resolutionKind === 'node10'
    t.strictSame(
      problems.filter((problem) => !isExpected(problem)),
      [],
    )
  })

  await t.test('ES modules, require and strict TypeScript', async (t) => {
    const app = await appMade
    write(app, 'app.mjs', importing)
    write(app, 'app.cjs', requiring)
    for (const script of ['app.mjs', 'app.cjs']) {
      t.strictSame(await run(app, script), { rows, executor: 'worker', warnings: [] }, script)
    }
    write(app, 'app.ts', typescript)
    for (const [module, resolution] of [
      ['node16', 'node16'],
      ['nodenext', 'nodenext'],
      ['preserve', 'bundler'],
    ]) {
      const how = ['--module', module, '--moduleResolution', resolution]
      const compiler = 'node_modules/typescript/bin/tsc'
      const { code, stdout } = await runNode(app, [compiler, ...strictFlags, ...how, 'app.ts'])
      t.equal(code, 0, `${module}, ${resolution}: ${stdout}`)
    }
  })

  await t.test('without optional packages', async (t) => {
    const app = await bareMade
    write(app, 'app.mjs', importing)
    t.strictSame(await run(app, 'app.mjs'), { rows, executor: 'inline', warnings: [] })
  })

  const found: Runtime[] = [thisRuntime]

  await t.test('other versions of Node', async (t) => {
    for (const [i, version] of nodeVersions.entries()) {
      const node = runtimeAt(join(await nodesMade[i], 'node_modules', nodePackage, 'bin', 'node'))
      t.match(node.name, new RegExp(`^Node ${version}\\.`))
      await runPrograms(t, await appMade, node)
      found.push(node)
    }
  })

  for (const [i, name] of otherRuntimes.entries()) {
    const runtime = await obtained(othersMade[i], name)
    const skip = runtime === undefined && `npm gives no ${name} that runs here`
    await t.test(`runs on ${name}`, { skip }, async (t) => {
      await runPrograms(t, await appMade, runtime!)
      found.push(runtime!)
    })
  }

  await t.test('of two runtimes on one directory one gets it', async (t) => {
    const test = new RuntimesTest()
    t.teardown(() => test.remove())
    const random = generatorOf(seed)
    for (const [i, first] of found.entries()) {
      for (const second of found.slice(i + 1)) await test.round(first, second, random)
    }
    t.equal(test.counts.rounds, (found.length * (found.length - 1)) / 2, `seed ${seed}`)
    t.ok(test.counts.rows > 0, found.map(({ name }) => name).join(', '))
  })

  await t.test('bundles', async (t) => {
    const app = await bundledMade
    // Its own import of node:fs must leave that of the package whole.
    write(app, 'app.js', `import { existsSync } from 'node:fs'\nexistsSync('.')\n${importing}`)
    const asModules = ['--bundle', '--platform=node', '--format=esm', '--entry-names=[name]']
    const worker = 'node_modules/cellardb/build/package/job-worker.js'
    await npm(app, 'exec', '--', 'esbuild', 'app.js', worker, ...asModules, '--outdir=esbuild')
    await npm(app, 'exec', '--', 'esbuild', 'app.js', ...asModules, '--outdir=alone')
    const asCommon = ['--bundle', '--platform=node', '--format=cjs', '--outfile=common/app.cjs']
    await npm(app, 'exec', '--', 'esbuild', 'app.js', ...asCommon, '--log-level=error')
    write(
      app,
      'rollup.config.mjs',
      `import { nodeResolve } from '@rollup/plugin-node-resolve'
      export default {
        input: { app: 'app.js', 'job-worker': 'cellardb/job-worker' },
        output: { dir: 'rollup' },
        external: /^node:/,
        plugins: [nodeResolve({ exportConditions: ['node'] })],
      }`,
    )
    await npm(app, 'exec', '--', 'rollup', '-c')
    write(
      app,
      'webpack.config.cjs',
      `module.exports = {
        mode: 'production', target: 'node20', entry: './app.js',
        experiments: { outputModule: true },
        output: { path: __dirname + '/webpack', filename: 'app.mjs', module: true },
      }`,
    )
    const told = await npm(app, 'exec', '--', 'webpack')
    t.notMatch(told, 'WARNING', 'webpack has no complaints')
    const threads = { rows, executor: 'worker', warnings: [] }
    for (const script of ['esbuild/app.js', 'rollup/app.js', 'webpack/app.mjs']) {
      t.strictSame(await run(app, script), threads, script)
    }
    for (const script of ['alone/app.js', 'common/app.cjs']) {
      const { warnings, ...rest } = await run(app, script)
      t.strictSame(rest, { rows, executor: 'inline' }, script)
      t.match(warnings, [/job-worker.js must lie beside the bundle/], `${script} warns once`)
    }
  })
})
