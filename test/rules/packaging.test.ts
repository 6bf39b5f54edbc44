/**
 * What npm would publish: complete, free of tests, loadable from ESM and CommonJS, nothing loaded
 * before it is needed.
 *
 * @runs together, campaign
 */
import { build } from 'esbuild'
import { existsSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import t from 'tap'
import ts from 'typescript'
import { filesBelow, placeOf, projectRoot, runProgram, sourceFiles, visitNodes } from './support.js'

interface PackageDescription {
  readonly license: string
  readonly scripts: Readonly<Record<string, string>>
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
}

const description = JSON.parse(
  readFileSync(join(projectRoot, 'package.json'), 'utf8'),
) as PackageDescription

/** Bytes of the compressed package; a few per cent above what they are. */
const sizeMax = 800_000

/** The compiled module behind each entry, by the name of the published file. */
const compiledEntries = JSON.parse(
  readFileSync(join(projectRoot, '.ci/entries.json'), 'utf8'),
) as Readonly<Record<string, string>>

interface Packed {
  /** Bytes of the compressed package. */
  readonly size: number
  readonly files: readonly { readonly path: string }[]
}

async function packed(): Promise<Packed> {
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts', '--offline']
  const { stdout, stderr, code } = await runProgram('npm', args)
  if (code !== 0) throw new Error(`npm pack failed: ${stderr}`)
  const [found] = JSON.parse(stdout) as [Packed]
  return found
}

/** Paths of the published package. */
const packedFiles = onceAsync(async (): Promise<string[]> => {
  return (await packed()).files.map((file) => file.path)
})

/** The function, whose work is done by its first call alone. */
function onceAsync<T>(work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined
  return () => (result ??= work())
}

void t.test('the package holds what it exports and what that imports', async (t) => {
  const packed = await packedFiles()
  const held = new Set(packed)
  for (const [name, target] of Object.entries(description.exports)) {
    for (const path of typeof target === 'string' ? [target] : Object.values(target)) {
      t.ok(held.has(path.replace(/^\.\//, '')), `${name} leads to ${path}`)
    }
  }
  const missing = packed
    .filter((path) => path.endsWith('.js'))
    .flatMap((path) => {
      const text = readFileSync(join(projectRoot, path), 'utf8')
      const { importedFiles } = ts.preProcessFile(text, true, true)
      const relative = importedFiles.filter(({ fileName }) => fileName.startsWith('.'))
      return relative
        .map(({ fileName }) => posix.join(posix.dirname(path), fileName))
        .filter((target) => !held.has(target))
        .map((target) => `${path} imports ${target}`)
    })
  t.strictSame(missing, [], 'relative imports stay inside the package')
  const lost = packed
    .filter((path) => path.endsWith('.js'))
    .flatMap((path) => {
      const text = readFileSync(join(projectRoot, path), 'utf8')
      const named = [...text.matchAll(/new URL\(["'](\.[^"']+)["'], import\.meta\.url\)/g)]
      return named
        .map(([, target]) => posix.join(posix.dirname(path), target))
        .filter((target) => !held.has(target))
        .map((target) => `${path} starts ${target}`)
    })
  t.strictSame(lost, [], 'modules of threads lie where they are looked for')
})

void t.test('the reference describes what the package exports', (t) => {
  const text = readFileSync(join(projectRoot, '.typedoc.json'), 'utf8')
  const { entryPoints } = JSON.parse(text) as { readonly entryPoints: readonly string[] }
  const sources = Object.values(compiledEntries).map((path) => {
    return path.replace(/^build\/(.*)\.js$/, '$1.ts')
  })
  t.strictSame([...entryPoints].sort(), sources.sort())
  t.end()
})

void t.test('what the package exports is bundled, one copy of each class', (t) => {
  for (const [name, target] of Object.entries(description.exports)) {
    if (typeof target === 'string') continue
    t.match(target.default, /^\.\/build\/package\//, `${name}: see .ci/bundle.mjs`)
    t.equal(target.types, target.default.replace(/\.js$/, '.d.ts'), name)
  }
  const folder = join(projectRoot, 'build', 'package')
  const worker = readFileSync(join(folder, 'job-worker.js'), 'utf8')
  const { importedFiles } = ts.preProcessFile(worker, true, true)
  t.strictSame(
    importedFiles.map(({ fileName }) => fileName).filter((name) => !name.startsWith('node:')),
    [],
    'the module of the threads imports nothing, so that it can be copied',
  )
  t.match(worker, 'Permission is hereby granted', 'and has the licence of what it holds')
  t.end()
})

void t.test('a bundle of one file prunes transactional tables and messages', async (t) => {
  const folder = t.testdir()
  const contents = `
    const { openMemoryDatabase } = require('cellardb/memory')
    const { MessagingService } = require('cellardb/messaging')
    const {
      runTransaction, transactionalFamily, TransactionManager, transactionProcessor
    } = require('cellardb/transactions')
    async function main() {
      const database = await openMemoryDatabase()
      await database.createTable('t', { families: { f: transactionalFamily() } })
      const manager = await TransactionManager.open(database)
      const dropped = []
      const register = (coprocessor) => database.registerCoprocessor(coprocessor)
      await register(transactionProcessor({
        tables: ['t'],
        transactions: () => manager.snapshot(),
        onProcessed: (job, { covered }) => dropped.push(covered),
      }))
      const messaging = await MessagingService.open(database, { transactions: manager, register })
      const topic = { namespace: 'n', topic: 't' }
      await messaging.createTopic(topic)
      for (const value of ['1', '2']) {
        const mutation = { row: 'r', cells: { 'f:q': value } }
        await runTransaction(manager, (tx) => tx.table('t').put(mutation))
        await messaging.publish(topic, { messages: [value] })
      }
      await database.flush()
      console.log(dropped.join())
      await messaging.close()
      await manager.close()
      await database.close()
    }
    void main()`
  const outfile = join(folder, 'app.cjs')
  const stdin = { contents, resolveDir: projectRoot }
  const options = { bundle: true, platform: 'node', format: 'cjs', logLevel: 'error' } as const
  await build({ ...options, stdin, outfile })
  const { stdout, stderr, code } = await runProgram(process.execPath, [outfile])
  t.strictSame({ stdout, stderr, code }, { stdout: '1\n', stderr: '', code: 0 })
})

void t.test('the package holds no tests, benchmarks or settings', async (t) => {
  const packed = await packedFiles()
  const allowed = [
    /^(package\.json|README\.md|LICENSE)$/,
    /^build\/package\/.+\.js$/,
    /^build\/package\/[^/]+\.d\.ts$/,
  ]
  t.strictSame(
    packed.filter((path) => !allowed.some((pattern) => pattern.test(path))),
    [],
  )
  t.ok(packed.includes('LICENSE'))
  t.equal(description.license, 'Apache-2.0')
})

void t.test('declarations are rolled up, one file for each entry', async (t) => {
  const rolled = await runProgram(process.execPath, ['.ci/declarations.mjs'], { cwd: projectRoot })
  t.equal(rolled.code, 0, rolled.stderr)
  const folder = join(projectRoot, 'build', 'package')
  for (const name of Object.keys(compiledEntries)) {
    const { importedFiles } = ts.preProcessFile(
      readFileSync(join(folder, `${name}.d.ts`), 'utf8'),
      true,
      true,
    )
    const outside = importedFiles.filter(({ fileName }) => fileName.startsWith('..'))
    t.strictSame(outside, [], `${name} needs nothing that is not packed`)
  }
  const internal = filesBelow('build/package', (path) => path.endsWith('.d.ts')).filter((path) => {
    return /^declare class (Engine|VersionSet|SsTableReader|Log)\b/m.test(
      readFileSync(join(projectRoot, path), 'utf8'),
    )
  })
  t.strictSame(internal, [], 'no class of the engine is declared')
  const { size } = await packed()
  t.ok(size < sizeMax, `${size} bytes: see docs/bundlers-and-runtimes.md, "Size of the package"`)
})

void t.test('bundlers leave imports of modules of users to Node', async (t) => {
  for (const path of (await packedFiles()).filter((name) => name.endsWith('.js'))) {
    const text = readFileSync(join(projectRoot, path), 'utf8')
    const plain = [...text.matchAll(/\bimport\((?!["'/]).{0,20}/g)].map(([found]) => found)
    t.strictSame(plain, [], `${path}: webpack warns of these, and finds no module`)
  }
})

void t.test('no namespace of a module of Node is handed on as a value', (t) => {
  const found: string[] = []
  for (const file of sourceFiles('src', 'native-free')) {
    const names = new Set<string>()
    visitNodes(file.tree, (node) => {
      if (ts.isNamespaceImport(node)) names.add(node.name.text)
      if (!ts.isIdentifier(node) || !names.has(node.text)) return
      const { parent } = node
      const isNamed = ts.isPropertyAccessExpression(parent) || ts.isQualifiedName(parent)
      if (isNamed || ts.isNamespaceImport(parent) || ts.isTypeQueryNode(parent)) return
      found.push(`${placeOf(file, node)} ${node.text}`)
    })
  }
  t.strictSame(found, [], 'webpack drops what it does not see called by name')
  t.end()
})

void t.test('an install runs nothing and brings little', async (t) => {
  const scripts = Object.keys(description.scripts)
  const ofInstalls = [
    'preinstall',
    'install',
    'postinstall',
    'preprepare',
    'prepare',
    'postprepare',
  ]
  t.strictSame(
    scripts.filter((name) => ofInstalls.includes(name)),
    [],
    'npm asks for approval of scripts that an install runs',
  )
  const packed = await packedFiles()
  t.ok(packed.length < 150, `${packed.length} files`)
})

void t.test('every built module has a source', (t) => {
  const built = ['build/src', 'build/native-free'].flatMap((folder) =>
    filesBelow(folder, (path) => path.endsWith('.js')),
  )
  const stale = built.filter((path) => {
    return !existsSync(join(projectRoot, path.replace(/^build\//, '').replace(/\.js$/, '.ts')))
  })
  t.strictSame(stale, [], 'delete build/ and build again')
  t.end()
})

/** The classes of `cellardb/level` extend those of a peer, which must be there before them. */
const baseClasses = { folder: 'src/level/', name: 'abstract-level' }

void t.test('nothing but Node itself is imported when src is loaded', (t) => {
  const found: string[] = []
  for (const file of sourceFiles('src', 'native-free')) {
    visitNodes(file.tree, (node) => {
      const isImport = ts.isImportDeclaration(node) || ts.isExportDeclaration(node)
      const from = isImport ? node.moduleSpecifier : undefined
      if (from === undefined || !ts.isStringLiteral(from)) return
      const erased = ts.isImportDeclaration(node)
        ? node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword
        : ts.isExportDeclaration(node) && node.isTypeOnly
      if (erased || /^(\.|node:)/.test(from.text)) return
      const place = placeOf(file, node)
      if (place.startsWith(baseClasses.folder) && from.text === baseClasses.name) return
      if (from.text === heldPackage) return
      found.push(`${place} ${from.text}`)
    })
  }
  t.strictSame(found, [], 'packages are loaded by the first call that needs them')
  t.end()
})

/** The package that the published modules hold. */
const heldPackage = 'xxhash-wasm'

/** Packages that a user of the published package may have beside it. */
const packages = Object.keys({
  ...description.dependencies,
  ...description.optionalDependencies,
  ...description.peerDependencies,
})

/** Prints which packages are loaded and which names the entry exports. */
const report = `
  const paths = Object.keys(nodeModule.createRequire(entry).cache)
  const folders = new Set(paths.flatMap((path) => path.split(/[\\\\/]/)))
  const loaded = ${JSON.stringify(packages)}.filter((name) => folders.has(name))
  console.log(JSON.stringify({ names: Object.keys(cellar), loaded }))
`

async function load(code: string, inputType: 'module' | 'commonjs'): Promise<unknown> {
  const {
    stdout,
    stderr,
    code: exit,
  } = await runProgram(
    process.execPath,
    [`--input-type=${inputType}`, '-e', code],
    // Only the child's own modules count, not those of tap's loaders.
    { environment: { NODE_OPTIONS: '' } },
  )
  if (exit !== 0) throw new Error(`loading failed: ${stderr}`)
  return JSON.parse(stdout)
}

const entry = JSON.stringify(join(projectRoot, 'build', 'package', 'index.js'))

void t.test('import loads no package', async (t) => {
  const code = `
    import * as cellar from 'cellardb'
    import * as nodeModule from 'node:module'
    const entry = ${entry}
    ${report}`
  const { names, loaded } = (await load(code, 'module')) as { names: string[]; loaded: string[] }
  t.ok(names.includes('Database'), 'Database is exported')
  t.strictSame(loaded, [], 'no package is loaded')
})

void t.test('require loads the package as well', async (t) => {
  const code = `
    const cellar = require('cellardb')
    const nodeModule = require('node:module')
    const entry = ${entry}
    ${report}`
  const { names, loaded } = (await load(code, 'commonjs')) as { names: string[]; loaded: string[] }
  t.ok(names.includes('Database'), 'Database is exported')
  t.strictSame(loaded, [], 'no package is loaded')
})

void t.test('the addon and the thread pool are optional', (t) => {
  t.strictSame(Object.keys(description.optionalDependencies ?? {}).sort(), ['lz4-napi', 'piscina'])
  t.strictSame(Object.keys(description.dependencies ?? {}).sort(), ['re2js'])
  const peers = Object.keys(description.peerDependencies ?? {})
  const isOptional = (name: string): boolean => {
    return description.peerDependenciesMeta?.[name]?.optional === true
  }
  t.strictSame(
    peers.filter((name) => !isOptional(name)),
    [],
    'peers are needed by one part only',
  )
  t.end()
})

void t.test('errors and databases are printed with their names', async (t) => {
  const code = `
    import * as cellar from 'cellardb'
    import { openMemoryDatabase } from 'cellardb/memory'
    import { inspect } from 'node:util'
    const db = await openMemoryDatabase()
    const table = await db.ensureTable('t', { families: { f: {} } })
    const errors = [
      await table.get('r', { colums: [] }).catch((error) => error),
      await table.putList([{ row: 'r', cells: { 'g:v': '1' } }]).catch((error) => error),
    ]
    const shown = errors.map((error) => {
      const [head] = inspect(error).split(':')
      return [error.name, error.constructor.name, error.stack.split(':')[0], head]
    })
    console.log(JSON.stringify({ shown, database: inspect(db).split(' ')[0] }))
    await db.close()`
  t.strictSame(await load(code, 'module'), {
    shown: [
      ['CellarError', 'CellarError', 'CellarError', 'CellarError'],
      ['CellarError', 'CellarError', 'CellarError', 'CellarError'],
    ],
    database: 'Database',
  })
})
