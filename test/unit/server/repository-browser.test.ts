/**
 * The page of the repository in a real browser: records are listed, shown, edited, searched, and
 * their versions looked at and restored. Chromium is found by CHROME_PATH or under its usual names;
 * with CELLAR_SCREENSHOTS=folder the page is drawn there in two widths.
 *
 * @runs campaign, long
 */
import type { Browser, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { Database, MemoryFileSystem } from '../../../src/entries/index.js'
import {
  EmbeddedSearch,
  RepositoryManager,
  SearchIndexes,
} from '../../../src/systems/repository/index.js'
import { CellarServer, repositoryRoutes } from '../../../src/server/index.js'
import { draw, executablePath, skip } from './browser.js'

const token = 'token-of-the-page'
const hostile = '<img src=x onerror="document.title=1">'

interface Scene {
  readonly database: Database
  readonly url: string
  readonly close: () => Promise<void>
}

async function open(): Promise<Scene & { readonly manager: RepositoryManager }> {
  const fileSystem = new MemoryFileSystem()
  const database = await Database.open('/d', { fileSystem, executor: 'inline' })
  const manager = await RepositoryManager.open(database)
  for (const [name, valueType] of [
    ['{org.library}title', 'STRING'],
    ['{org.library}summary', 'STRING'],
    ['{org.library}keywords', 'LIST<STRING>'],
  ] as const) {
    await manager.types.createFieldType({ name, valueType, scope: 'VERSIONED' })
  }
  await manager.types.createRecordType({ name: '{org.library}book' })
  const indexes = await SearchIndexes.open(manager, {
    backend: ({ name }) => EmbeddedSearch.open(database, { name }),
  })
  const configuration = {
    recordFilter: { includes: [{ versionTags: ['last'] }] },
    fields: [{ name: 'title_t', value: '{org.library}title' }],
  }
  await indexes.create({ name: 'default', configuration })
  const table = manager.repository().table()
  for (let i = 0; i < 60; i++) {
    const fields = {
      '{org.library}title': i === 0 ? hostile : `Book ${i}`,
      '{org.library}summary': 'A text of some length, as summaries of books have it. '.repeat(
        i % 4,
      ),
      '{org.library}keywords': ['sea', `shelf-${i % 7}`],
    }
    await table.create({ id: `USER.${100 + i}`, type: '{org.library}book', fields })
  }
  const server = await CellarServer.start([repositoryRoutes(manager, { indexes })], {
    port: 0,
    token,
  })
  const close = async (): Promise<void> => {
    await server.close()
    await indexes.close()
    await manager.close()
    await database.close()
  }
  return { database, manager, url: server.url, close }
}

/** Waits until the page says it. */
async function says(page: Page, text: RegExp): Promise<void> {
  await page.locator('#message', { hasText: text }).waitFor()
}

async function use(t: Test, browser: Browser): Promise<void> {
  const { manager, url, close } = await open()
  const table = manager.repository().table()
  const page = await browser.newPage()
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(error.message))
  page.on('dialog', (dialog) => void dialog.accept())
  page.setDefaultTimeout(20_000)
  await page.goto(`${url}/repository/ui`)
  await page.getByRole('button', { name: 'Show' }).click()
  await says(page, /401/)
  await page.getByLabel('Token').fill(token)
  await page.getByRole('button', { name: 'Show' }).click()
  const entries = page.locator('#list li')
  await page.getByRole('button', { name: 'More' }).waitFor()
  t.equal(await entries.count(), 50)
  await page.getByRole('button', { name: 'More' }).click()
  await entries.nth(59).waitFor()
  await draw(page, 'list')

  await page.getByRole('button', { name: 'USER.100', exact: true }).click()
  await page.getByRole('heading', { name: 'USER.100' }).waitFor()
  const cell = page.getByRole('cell', { name: hostile, exact: true })
  await cell.waitFor()
  t.not(await page.title(), '1', 'a value is text, and runs nothing')

  const editor = page.getByRole('textbox', { name: 'Fields as JSON' })
  await editor.fill('{"{org.library}title": "The brown fox"}')
  await page.getByRole('button', { name: 'Save' }).click()
  await says(page, /saved/)
  t.same((await table.read('USER.100')).fields, { '{org.library}title': 'The brown fox' })
  await page.getByRole('cell', { name: 'The brown fox', exact: true }).waitFor()
  await draw(page, 'record')

  const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
  t.ok((overflow as number) <= 0, 'nothing is wider than the window')
  await page.setViewportSize({ width: 400, height: 800 })
  const narrow = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
  t.ok((narrow as number) <= 0, `nor than a telephone: ${String(narrow)}`)

  await table.update({ id: 'USER.100', fields: { '{org.library}title': 'Somebody was faster' } })
  await editor.fill('{"{org.library}title": "Too late"}')
  await page.getByRole('button', { name: 'Save' }).click()
  await says(page, /412/)
  await page.getByRole('button', { name: 'version 1' }).click()
  await cell.waitFor()
  await draw(page, 'version')
  await page.getByRole('button', { name: 'Restore this version' }).click()
  await says(page, /412|restored/)
  await page.getByLabel('Id', { exact: true }).fill('USER.100')
  await page.getByRole('button', { name: 'Open' }).click()
  await page.getByRole('button', { name: 'version 2' }).click()
  await page.getByRole('cell', { name: 'The brown fox', exact: true }).waitFor()
  await page.getByRole('button', { name: 'Restore this version' }).click()
  await says(page, /restored/)
  t.equal((await table.read('USER.100')).fields['{org.library}title'], 'The brown fox')

  await page.getByLabel('Search').fill('title_t:fox')
  await page.getByRole('button', { name: 'Search' }).click()
  await says(page, /1 found/)
  t.equal(await entries.count(), 1)
  await entries.getByRole('button', { name: 'USER.100' }).click()
  await page.getByRole('button', { name: 'Delete' }).click()
  await says(page, /deleted/)
  t.notOk(await table.exists('USER.100'))
  t.same(problems, [])
  await page.close()
  await close()
}

void t.test('a reader at a browser', { skip }, async (t) => {
  // Loaded only where there is a browser: it is large.
  const { chromium } = await import('playwright-core')
  const args = ['--no-sandbox', '--disable-gpu']
  const browser = await chromium.launch({ executablePath, args })
  try {
    await use(t, browser)
  } finally {
    await browser.close()
  }
})
