// The resources of http2.py by Go's net/http: server ADDRESS FOLDER. It also sends a body back while it arrives, sends an
// interim response, and breaks a response off.
package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
)

func main() {
	folder := os.Args[2]
	http.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		block := make([]byte, 1<<16)
		w.WriteHeader(200)
		w.(http.Flusher).Flush()
		for {
			count, err := r.Body.Read(block)
			w.Write(block[:count])
			w.(http.Flusher).Flush()
			if err != nil {
				return
			}
		}
	})
	http.HandleFunc("/hints", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.WriteHeader(103)
		http.ServeFile(w, r, filepath.Join(folder, "item.json"))
	})
	http.HandleFunc("/broken", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "[")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	http.HandleFunc("/trailers", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		http.ServeFile(w, r, filepath.Join(folder, "item.json"))
		w.Header().Set("X-Sum", "24")
	})
	http.Handle("/", http.FileServer(http.Dir(folder)))
	if err := http.ListenAndServeTLS(os.Args[1], filepath.Join(folder, "good.pem"), filepath.Join(folder, "good.key"), nil); err != nil {
		panic(err)
	}
}
