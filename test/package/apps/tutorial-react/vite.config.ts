import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { VitePWA } from 'vite-plugin-pwa'

const server = 'http://127.0.0.1:8080'

export default defineConfig({
  plugins: [react(), VitePWA({ workbox: { globPatterns: ['**/*.{html,js,css,svg}'] } })],
  server: { proxy: { '/databases': server, '/api': server } },
})
