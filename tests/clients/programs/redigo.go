// Runs commands through redigo: see ../programs.py for what it reads and writes.
package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/gomodule/redigo/redis"
)

func encode(value interface{}) interface{} {
	switch value := value.(type) {
	case redis.Error:
		return map[string]string{"error": value.Error()}
	case string:
		return hex.EncodeToString([]byte(value))
	case []byte:
		return hex.EncodeToString(value)
	case []interface{}:
		elements := make([]interface{}, len(value))
		for i, element := range value {
			elements[i] = encode(element)
		}
		return elements
	default:
		return value
	}
}

func main() {
	connection, err := redis.Dial("unix", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	defer connection.Close()
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		words := []interface{}{}
		for _, word := range strings.Split(strings.TrimSpace(line), ",") {
			bytes, err := hex.DecodeString(word)
			if err != nil {
				log.Fatal(err)
			}
			words = append(words, bytes)
		}
		reply, err := connection.Do(string(words[0].([]byte)), words[1:]...)
		shown := encode(reply)
		if err != nil {
			shown = map[string]string{"raised": err.Error()}
		}
		text, err := json.Marshal(shown)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(string(text))
	}
}
