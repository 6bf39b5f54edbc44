/**
 * The console in a real browser, at 400 and at 1400 pixels: what it shows of a busy database, that
 * it refuses without a token, that values run nothing, and that nothing is wider than the window.
 * Chromium is found as for the page of the repository.
 *
 * @runs campaign, long
 */
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { Database, MemoryFileSystem } from '../../../src/entries/index.js'
import { MessagingService } from '../../../src/systems/messaging/index.js'
import { TransactionManager } from '../../../src/systems/transactions/index.js'
import { CellarServer, consolePage, engineMetrics } from '../../../src/server/index.js'
import { draw, executablePath, skip } from './browser.js'

const token = 'token-of-the-console'
const hostile = '<img src=x onerror="document.title=1">'

async function open(t: Test): Promise<{ database: Database; url: string }> {
  const database = await Database.open('/srv/shop', {
    fileSystem: new MemoryFileSystem(),
    executor: 'inline',
    slowOperationMilliseconds: 0,
  })
  for (const [name, names] of [
    ['orders', ['items', 'payment']],
    ['customers_of_all_countries', ['f']],
  ] as const) {
    const families = Object.fromEntries(names.map((family) => [family, {}]))
    const table = await database.createTable(name, { families })
    for (let file = 0; file < 3; file++) {
      for (let i = 0; i < 300; i++) {
        const cells = Object.fromEntries(names.map((family) => [`${family}:a`, 'v'.repeat(50 + i)]))
        table.putSync({ row: `row-${i}`, cells })
      }
      if (file < 2) await database.flush()
    }
    await table.get({ row: 'row-7' })
  }
  const manager = await TransactionManager.open(database)
  const messaging = await MessagingService.open(database, { transactions: manager })
  const topic = { namespace: 'shop', topic: 'orders' }
  await messaging.createTopic(topic)
  await messaging.publish(topic, { messages: ['a', 'b'] })
  await database.createTable('owned', { families: { n: {} } })
  await database.createTable('control', { families: { n: {} } })
  const row = Buffer.concat([Buffer.alloc(7), Buffer.of(9), Buffer.from('/cluster/leader')])
  await database.table('owned').put({ row, cells: { 'n:': '' } })
  const engine = engineMetrics(() => database)
  const console = consolePage(database, [engine], {
    messaging: () => messaging,
    transactions: () => manager,
  })
  const server = await CellarServer.start([engine, console], { port: 0, token })
  t.teardown(async () => {
    await server.close()
    await messaging.close()
    await manager.close()
    await database.close()
  })
  return { database, url: server.url }
}

/** A row of a section of the page, by its first cell. */
function rowOf(page: Page, section: string, first: string): ReturnType<Page['locator']> {
  return page.locator(`#${section} tbody tr`, { has: page.getByText(first, { exact: true }) })
}

void t.test('the console shows a busy database', { skip }, async (t) => {
  const { chromium } = await import('playwright-core')
  const { database, url } = await open(t)
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  t.teardown(() => browser.close())
  const page = await browser.newPage()
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(error.message))
  page.setDefaultTimeout(60_000)
  await page.goto(`${url}/console`)
  await page.locator('#message', { hasText: '401' }).waitFor()
  t.equal(await page.locator('main').isVisible(), false, 'nothing is shown without a token')
  await page.getByLabel('Token').fill(token)
  await page.getByRole('button', { name: 'Show' }).click()
  await rowOf(page, 'tables', 'orders:payment').waitFor()
  t.match(await page.locator('#health').textContent(), 'engine: ok')
  t.match(await page.locator('#directory').textContent(), '/srv/shop')
  t.match(await rowOf(page, 'tables', 'customers_of_all_countries:f').textContent(), /KiB/)
  t.equal((await page.locator('#tables .levels').count()) > 2, true, 'a picture of the levels')
  await rowOf(page, 'topics', 'shop:orders').waitFor()
  await rowOf(page, 'locks', '/cluster/leader').waitFor()
  t.match(await page.locator('#figures').textContent(), /Writersfree/)

  // The console hears of slow operations from its first answer on, and asks again by itself.
  await database.table('orders').get({ row: hostile, columns: ['payment'] })
  const slow = rowOf(page, 'slow', hostile)
  await slow.waitFor()
  t.match(await slow.textContent(), 'orders:payment')
  t.equal(await page.title(), 'Cellar console', 'a row is text, and runs nothing')
  await draw(page, 'console')
  for (const width of [1400, 400]) {
    await page.setViewportSize({ width, height: 900 })
    const wider = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
    t.ok((wider as number) <= 0, `nothing is wider than ${width} pixels: ${String(wider)}`)
    const broken = await page.evaluate(`[...document.querySelectorAll('td.number span')]
      .filter((each) => each.offsetHeight > 1.6 * parseFloat(getComputedStyle(each).lineHeight))
      .map((each) => each.textContent)`)
    t.strictSame(broken, [], `no number has two lines at ${width} pixels`)
  }
  t.strictSame(problems, [])
})
